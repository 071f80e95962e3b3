#include "cli/batch_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/core/text/utf8.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/io/files.h"
#include "framework/io/safetensors.h"

namespace qkv {
namespace {

// Writes the first batches of a part. Returns how many there were: at most `count`.
absl::StatusOr<int64_t> write_batches(const std::string& path, const Dataset& dataset, Split split,
                                      int64_t batch_size, int64_t count, const Model* model) {
  const NoGrad no_grad;
  TensorFile file;
  const bool trains = split == Split::kTraining;
  int64_t i = 0;
  for (; i < count; ++i) {
    const int64_t first = i * batch_size, left = dataset.validation_size() - first;
    if (!trains && left <= 0) break;
    const Batch batch = trains ? dataset.training_batch(i, batch_size)
                               : dataset.validation_batch(first, std::min(batch_size, left));
    const std::string number = absl::StrCat(".", i);
    for (size_t k = 0; k < batch.inputs.size(); ++k) {
      const std::string which = k == 0 ? "" : absl::StrCat(".", k);
      file.tensors.push_back({absl::StrCat("inputs", number, which), batch.inputs[k]});
    }
    file.tensors.push_back({"targets" + number, batch.targets});
    if (!model) continue;
    const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
    ForwardContext context;
    file.tensors.push_back({"logits" + number, (*model)(inputs, context).array()});
  }
  file.metadata["vocabulary"] = nlohmann::json(dataset.vocabulary().names()).dump();
  RETURN_IF_ERROR(write_safetensors(path, file));
  return i;
}

}  // namespace

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
    return invalid_argument("--export: ", path, " has to end in .safetensors",
                            may_be_picture ? ", or for images in .png" : "",
                            ": no other kind of file is written");
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
  ASSIGN_OR_RETURN(const int64_t count, write_batches(path, dataset, split, batch_size,
                                                      given.integer("batches"), model));
  show(absl::StrCat("wrote ", count, " batches to ", printable(path), "\n"));
  return absl::OkStatus();
}

}  // namespace qkv
