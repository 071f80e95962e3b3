#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/verbs.h"
#include "data/show.h"
#include "framework/core/utf8.h"
#include "framework/io/safetensors.h"
#include "train/config/config.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.set();
  options.split();
  options.integer("samples", "N", "How many to show", 5);
  options.text("export", "FILE", "Writes batches to a safetensors file");
  options.integer("batches", "N", "How many to write", 10);
}

absl::Status export_batches(const Dataset& dataset, int64_t batch_size, Split split, int64_t count,
                            const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--export: ", path, " exists; remove it or choose another name"));
  }
  TensorFile file;
  int64_t written = 0;
  for (int64_t i = 0; i < count; ++i) {
    Batch batch;
    if (split == Split::kTraining) {
      batch = dataset.training_batch(i, batch_size);
    } else {
      const int64_t first = i * batch_size;
      if (first >= dataset.validation_size()) break;
      batch =
          dataset.validation_batch(first, std::min(batch_size, dataset.validation_size() - first));
    }
    for (size_t k = 0; k < batch.inputs.size(); ++k) {
      const std::string name =
          k == 0 ? absl::StrCat("inputs.", i) : absl::StrCat("inputs.", i, ".", k);
      file.tensors.push_back({name, batch.inputs[k]});
    }
    file.tensors.push_back({absl::StrCat("targets.", i), batch.targets});
    ++written;
  }
  file.metadata["vocabulary"] = nlohmann::json(dataset.vocabulary().texts()).dump();
  if (absl::Status status = write_safetensors(path, file); !status.ok()) {
    return status;
  }
  print(absl::StrCat("wrote ", written, " batches to ", printable(path), "\n"));
  return absl::OkStatus();
}

absl::Status run(const std::string& config, const GivenOptions& given) {
  Split split = Split::kValidation;
  if (absl::Status status = given.split(split); !status.ok()) return status;
  const int64_t samples = given.integer("samples"), batches = given.integer("batches");
  if (samples < 0) return absl::InvalidArgumentError("--samples must be 0 or more");
  if (batches < 1) return absl::InvalidArgumentError("--batches must be 1 or more");
  absl::StatusOr<LoadedConfig> loaded = load_config(config, given.set());
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(loaded->config);
  if (!dataset.ok()) return dataset.status();
  if (const std::string file = given.text("export"); !file.empty()) {
    return export_batches(**dataset, loaded->config.train.batch_size, split, batches, file);
  }
  print(describe_dataset(**dataset));
  print(absl::StrCat("\n", describe_examples(**dataset, split, samples)));
  return absl::OkStatus();
}

}  // namespace

Verb data_verb() {
  return {"data", "CONFIG", "shows the examples a config makes, or writes its batches", add_options,
          run};
}

}  // namespace qkv
