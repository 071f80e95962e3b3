#include "apps/exchange/hugging_face.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "data/tokenizer_json.h"
#include "framework/io/safetensors.h"
#include "train/hugging_face/config_json.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr char kBeginningOfConfig[] = "{\n  \"made_by\": \"qkv\"";
constexpr char kBeginningOfTokenizer[] = "{\"version\":";
constexpr char kBeginningOfPreprocessor[] = "{\n  \"image_processor_type\": ";

int64_t number_of(const Vocabulary& vocabulary, const std::string& token) {
  const auto found = std::ranges::find(vocabulary.texts(), token);
  return token.empty() || found == vocabulary.texts().end() ? -1
                                                            : found - vocabulary.texts().begin();
}

// Pixels are 0 … 1, and nothing is subtracted from them.
std::string preprocessor_json(const DataShape& data) {
  const nlohmann::ordered_json json = {{"image_processor_type", "ViTImageProcessor"},
                                       {"do_resize", true},
                                       {"size", {{"height", data.height}, {"width", data.width}}},
                                       {"do_rescale", true},
                                       {"rescale_factor", 1.0 / 255.0},
                                       {"do_normalize", false}};
  return json.dump(2) + "\n";
}

}  // namespace

std::vector<ExportedFile> hugging_face_files(const std::string& folder) {
  return {{absl::StrCat(folder, "/config.json"), kBeginningOfConfig},
          {absl::StrCat(folder, "/model.safetensors"), ""},
          {absl::StrCat(folder, "/tokenizer.json"), kBeginningOfTokenizer},
          {absl::StrCat(folder, "/preprocessor_config.json"), kBeginningOfPreprocessor}};
}

absl::StatusOr<std::vector<std::string>> make_hugging_face(const LoadedRun& run,
                                                           const std::string& /*folder*/) {
  const auto& [config, vocabulary, class_names, trained_in, fingerprint, data, state, arrays,
               notes] = run.checkpoint;
  const absl::StatusOr<HuggingFaceKind> kind = find_hugging_face_kind(config, data);
  if (!kind.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(run.path, ": ", kind.status().message()));
  }
  if (const absl::StatusOr<Model> model = run.model(); !model.ok()) return model.status();
  const absl::StatusOr<std::string> weights = safetensors_bytes(
      {.metadata = {{"format", "pt"}},
       .tensors = to_hugging_face(hugging_face_tensors(*kind, config.model, data), arrays)});
  if (!weights.ok()) return weights.status();
  const TaskKind& task = *find_task(config.data.task);
  const HuggingFaceConfig named = {.kind = *kind,
                                   .model = config.model,
                                   .data = data,
                                   .class_names = *kind == HuggingFaceKind::kGpt2
                                                      ? std::vector<std::string>()
                                                  : class_names.empty() ? vocabulary.texts()
                                                                        : class_names};
  const std::string tokenizer = tokenizer_json(vocabulary);  // "" of a list
  const TextEnds ends = {.first_token = number_of(vocabulary, task.first_token),
                         .last_token = number_of(vocabulary, task.last_token)};
  return std::vector<std::string>{
      hugging_face_config_json(named, precision_dtype(config.train), ends), *weights,
      data.is_image()     ? ""
      : tokenizer.empty() ? listed_tokenizer_json(vocabulary)
                          : tokenizer,
      data.is_image() ? preprocessor_json(data) : ""};
}

}  // namespace qkv
