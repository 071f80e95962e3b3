#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "framework/io/safetensors.h"
#include "train/run/finite.h"
#include "train/run/run_folder.h"

namespace qkv {
namespace {

void add_info_options(OptionList& /*options*/) {}

absl::Status run_info(const std::string& file, const GivenOptions& /*given*/) {
  absl::StatusOr<std::string> path = find_checkpoint(file);
  if (!path.ok()) return path.status();
  absl::StatusOr<TensorFile> tensors = read_safetensors(*path);
  if (!tensors.ok()) return tensors.status();
  int64_t numbers = 0;
  std::string text;
  for (const NamedArray& t : tensors->tensors) {
    numbers += t.array.size();
    absl::StrAppendFormat(&text, "  %-60s %s", escape(t.name), t.array.describe());
    if (const int64_t count = count_not_finite(t.array)) {
      absl::StrAppend(&text, "  not finite: ", count);
    }
    absl::StrAppend(&text, "\n");
  }
  print(absl::StrCat(printable(*path), ": ", tensors->tensors.size(), " tensors, ", numbers,
                     " numbers\n", text));
  for (const auto& [key, value] : tensors->metadata) {
    print(absl::StrCat("\n[", escape(key), "]\n"));
    for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(value, "\n"), '\n')) {
      print(absl::StrCat(escape(std::string(line)), "\n"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Verb info_verb() {
  return {{"info", "FILE", "lists the tensors and the metadata of a checkpoint"},
          add_info_options,
          run_info};
}

}  // namespace qkv
