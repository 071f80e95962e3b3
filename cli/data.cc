#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/verbs.h"
#include "data/show.h"
#include "data/show_images.h"
#include "framework/core/utf8.h"
#include "framework/io/safetensors.h"
#include "train/config/config.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr int64_t kMaxPictures = 10000;  // in one

void add_options(OptionList& options) {
  options.set();
  options.split();
  options.integer("samples", "N", "How many to show", 5);
  options.text("export", "FILE",
               "Writes batches to a safetensors file, or the samples of images to a FILE.png");
  options.integer("batches", "N", "How many to write", 10);
}

// Of what a terminal says of itself (https://no-color.org).
Colours terminal_colours() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const bool knows_colours = isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
  if (!knows_colours || !variable("NO_COLOR").empty()) return Colours::kNone;
  const std::string kind = variable("COLORTERM");
  return kind == "truecolor" || kind == "24bit" ? Colours::kAll : Colours::k256;
}

absl::Status export_images(const Dataset& dataset, Split split, int64_t samples,
                           const std::string& path) {
  if (!dataset.shape().is_image()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--export: ", path, " would be a picture, and these data have no images"));
  }
  if (samples < 1 || samples > kMaxPictures) {
    return absl::InvalidArgumentError(
        absl::StrCat("--samples must be 1 … ", kMaxPictures, " where a picture is made of them"));
  }
  const absl::StatusOr<std::string> classes = write_contact_sheet(dataset, split, samples, path);
  if (!classes.ok()) return classes.status();
  print(absl::StrCat("wrote ", printable(path), ", images of\n", *classes));
  return absl::OkStatus();
}

absl::Status export_batches(const Dataset& dataset, int64_t batch_size, Split split, int64_t count,
                            const std::string& path) {
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
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) {
      return absl::AlreadyExistsError(
          absl::StrCat("--export: ", file, " exists; remove it or choose another name"));
    }
    if (absl::EndsWithIgnoreCase(file, ".png")) {
      return export_images(**dataset, split, samples, file);
    }
    return export_batches(**dataset, loaded->config.train.batch_size, split, batches, file);
  }
  print(describe_dataset(**dataset));
  print(absl::StrCat("\n", describe_examples(**dataset, split, samples, terminal_colours())));
  return absl::OkStatus();
}

}  // namespace

Verb data_verb() {
  return {"data", "CONFIG", "shows the examples a config makes, or writes them", add_options, run};
}

}  // namespace qkv
