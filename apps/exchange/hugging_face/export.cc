#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/exchange/export_formats.h"
#include "apps/exchange/hugging_face/folder.h"
#include "data/tasks/tasks.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/status.h"
#include "framework/io/safetensors.h"
#include "train/config/config_fields.h"
#include "train/folder/experiment.h"

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
  const nlohmann::ordered_json facts = {{"image_processor_type", "ViTImageProcessor"},
                                        {"do_resize", true},
                                        {"size", {{"height", data.height}, {"width", data.width}}},
                                        {"do_rescale", true},
                                        {"rescale_factor", 1.0 / 255.0},
                                        {"do_normalize", false}};
  return facts.dump(2) + "\n";
}

// A key, and the values with which Hugging Face has the model, as in a config.
struct Need {
  const char* key;
  std::vector<std::string> values;
};

std::vector<Need> needs_of(const Config& config) {
  const bool is_decoder = form_of(config.model.kind) == DataForm::kSequence;
  const bool is_classifier = form_of(config.model.kind) == DataForm::kClass;
  std::vector<Need> needs = {
      {"model.kind", {"\"decoder\"", "\"classifier\""}},
      {"model.mixer", {"\"attention\""}},
      {"model.position", {"\"learned\""}},
      {"model.norm", {"\"pre\""}},
      {"model.norm_kind", {"\"layer\""}},
      {"model.activation", {"\"gelu\"", "\"gelu_tanh\"", "\"relu\"", "\"silu\""}},
      {"model.logit_cap", {"0.0"}},
      {"model.bias", {"true"}},
      {"attention.projections", {"\"separate\""}},
      {"attention.heads", {"\"split\""}},
      {"attention.num_key_value_heads", {"0", absl::StrCat(config.model.num_heads)}},
      {"attention.window", {"0"}},
      {"attention.scale", {"0.0"}},
      {"attention.query_key_norm", {"false"}}};
  if (is_decoder) needs.push_back({"attention.causal", {"true"}});
  if (is_classifier) {
    needs.push_back({"model.pool", {"\"class_token\""}});
    needs.push_back({"model.scale_scores", {"true"}});
  }
  return needs;
}

// The kind that has all of the model. An error names every key that stands in the way, and the
// value that would do, in one sentence.
absl::StatusOr<HuggingFaceKind> find_kind(const Config& config, const DataShape& data) {
  Config copy = config;
  const std::vector<Field> fields = config_fields(copy);
  std::vector<std::string> in_the_way;
  for (const Need& need : needs_of(config)) {
    const auto field =
        std::ranges::find_if(fields, [&](const Field& f) { return f.key() == need.key; });
    const std::string value = field->to_string();
    if (!field->is_read || std::ranges::count(need.values, value) > 0) continue;
    in_the_way.push_back(
        absl::StrCat(need.key, " is ", value, ", where ", need.values.front(), " would do"));
  }
  if (!in_the_way.empty()) {
    return failed_precondition("Hugging Face has no such model: ", absl::StrJoin(in_the_way, "; "));
  }
  if (form_of(config.model.kind) == DataForm::kSequence) return HuggingFaceKind::kGpt2;
  return data.is_image() ? HuggingFaceKind::kVit : HuggingFaceKind::kMegatronBert;
}

}  // namespace

std::string any_tokenizer_json(const Vocabulary& vocabulary) {
  return vocabulary.kind() == TokenKind::kCharacters ? listed_tokenizer_json(vocabulary)
                                                     : tokenizer_json(vocabulary);
}

std::vector<ExportedFile> hugging_face_files(const std::string& folder) {
  return {{absl::StrCat(folder, "/config.json"), kBeginningOfConfig},
          {absl::StrCat(folder, "/model.safetensors"), ""},
          {absl::StrCat(folder, "/tokenizer.json"), kBeginningOfTokenizer},
          {absl::StrCat(folder, "/preprocessor_config.json"), kBeginningOfPreprocessor}};
}

absl::StatusOr<std::vector<std::string>> make_hugging_face(const LoadedRun& run,
                                                           const std::string& /*folder*/) {
  const Checkpoint& checkpoint = run.checkpoint;
  const Config& config = checkpoint.config;
  const DataShape& data = checkpoint.data;
  const Vocabulary& vocabulary = checkpoint.vocabulary;
  const absl::StatusOr<HuggingFaceKind> kind = find_kind(config, data);
  if (!kind.ok()) {
    return failed_precondition(run.path, ": ", kind.status().message());
  }
  if (const absl::StatusOr<Model> model = run.model(); !model.ok()) return model.status();
  const absl::StatusOr<std::string> weights =
      safetensors_bytes({.metadata = {{"format", "pt"}},
                         .tensors = to_hugging_face(hugging_face_tensors(*kind, config.model, data),
                                                    checkpoint.arrays)});
  if (!weights.ok()) return weights.status();
  const TaskKind& task = *find_task(config.data.task);
  const HuggingFaceConfig named = {.kind = *kind,
                                   .model = config.model,
                                   .data = data,
                                   .class_names = *kind == HuggingFaceKind::kGpt2
                                                      ? std::vector<std::string>()
                                                      : checkpoint.answers()};
  const TextEnds ends = {.first_token = number_of(vocabulary, task.first_token),
                         .last_token = number_of(vocabulary, task.last_token)};
  return std::vector<std::string>{
      hugging_face_config_json(named, precision_dtype(config.train), ends), *weights,
      data.is_image() ? "" : any_tokenizer_json(vocabulary),
      data.is_image() ? preprocessor_json(data) : ""};
}

}  // namespace qkv
