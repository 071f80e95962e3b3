#include "cli/batch_file.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"
#include "train/evaluate/batch_file.h"

namespace qkv {

void add_export_options(OptionList& options, const std::string& help) {
  options.text("export", "FILE", help);
  options.integer("batches", "N", "Number of batches to export", 10);
  options.rules().need({"batches"}, "export");
}

absl::Status check_export_options(const GivenOptions& given, bool may_be_picture) {
  if (given.integer("batches") < 1) {
    return absl::InvalidArgumentError("--batches must be 1 or more");
  }
  const std::string path = given.text("export");
  if (path.empty()) return absl::OkStatus();
  const std::string ending =
      absl::AsciiStrToLower(std::filesystem::path(path).extension().string());
  if (!ending.empty() && ending != ".safetensors" && (ending != ".png" || !may_be_picture)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--export: ", path, " has to end in .safetensors",
        may_be_picture ? ", or for images in .png" : "", ": no other kind of file is written"));
  }
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--export: ", path, " exists; remove it or choose another name"));
  }
  return check_can_write(path);
}

absl::Status export_batches(const Dataset& dataset, Split split, int64_t batch_size,
                            const GivenOptions& given, const Model* model) {
  const std::string path = given.text("export");
  const absl::StatusOr<int64_t> count =
      write_batches(path, dataset, split, batch_size, given.integer("batches"), model);
  if (!count.ok()) return count.status();
  show(absl::StrCat("wrote ", *count, " batches to ", printable(path), "\n"));
  return absl::OkStatus();
}

}  // namespace qkv
