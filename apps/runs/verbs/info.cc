#include <set>
#include <string>

#include "apps/runs/checkpoint_tensors.h"
#include "cli/kit.h"
#include "framework/io/safetensors.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

void add_info_options(OptionList& options) {
  options.flag("verbose", "Prints all tensors and all metadata");
}

absl::Status run_info(const std::string& file, const GivenOptions& given) {
  absl::StatusOr<std::string> path = find_checkpoint(file);
  if (!path.ok()) return path.status();
  std::set<std::string> types;  // that are none of DType
  absl::StatusOr<TensorFile> tensors = read_safetensors(*path, [&](const TensorEntry& entry) {
    if (!entry.type.empty()) types.insert(entry.type);
    return entry.type.empty() || entry.type == "F16";
  });
  if (!tensors.ok()) return tensors.status();
  for (const std::string& type : types) {
    say_note(absl::StrCat("tensors of the type ", type,
                          type == "F16" ? " are shown as f32" : " are left out"));
  }
  show_table(
      absl::StrCat(printable(*path), "\n", describe_tensors(*tensors, given.has("verbose"))));
  return absl::OkStatus();
}

}  // namespace

Verb info_verb() {
  return {{"info", "RUN|FILE", "shows a checkpoint: model, optimizer, metadata"},
          add_info_options,
          run_info};
}

}  // namespace qkv
