#include "train/folder/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/file.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/text/mistakes.h"
#include "framework/kernels/kernels.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr char kFormat[] = "qkv-checkpoint-1";

// The sizes of a DataShape that are kept, beside the vocabulary, unless they are 0.
constexpr std::pair<const char*, int64_t DataShape::*> kSizes[] = {
    {"max_length", &DataShape::max_length}, {"source_length", &DataShape::source_length},
    {"classes", &DataShape::classes},       {"channels", &DataShape::channels},
    {"height", &DataShape::height},         {"width", &DataShape::width}};

// The texts that are kept, unless "".
constexpr std::pair<const char*, std::string Checkpoint::*> kTexts[] = {
    {"data_fingerprint", &Checkpoint::data_fingerprint},
    {"imported_from", &Checkpoint::imported_from}};

// Reads metadata entries; remembers the first that is missing or no number.
class Metadata {
 public:
  Metadata(const std::map<std::string, std::string>& entries) : entries_(entries) {}

  std::string text(const std::string& key) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    if (missing_.empty()) missing_ = key;
    return "";
  }
  int64_t integer(const std::string& key) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(text(key), &value) && missing_.empty()) missing_ = key;
    return value;
  }
  double number(const std::string& key) {
    double value = 0;
    if (!absl::SimpleAtod(text(key), &value) && missing_.empty()) missing_ = key;
    return value;
  }
  const std::string& missing() const { return missing_; }

 private:
  const std::map<std::string, std::string>& entries_;
  std::string missing_;
};

absl::StatusOr<std::vector<std::string>> texts_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> texts;
  if (!json.is_array()) return absl::DataLossError("it is not a list");
  for (const auto& entry : json) {
    if (!entry.is_string()) return absl::DataLossError("it holds values that are not strings");
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

// For people it is always written as a list; the tokenizer is read back, where there is one.
void put_vocabulary(const Vocabulary& vocabulary, std::map<std::string, std::string>& metadata) {
  metadata["vocabulary"] = nlohmann::json(vocabulary.names()).dump();
  if (std::string tokenizer = tokenizer_json(vocabulary); !tokenizer.empty()) {
    metadata["tokenizer"] = std::move(tokenizer);
  }
}

absl::StatusOr<Vocabulary> vocabulary_from_json(const std::string& text) {
  ASSIGN_OR_RETURN(std::vector<std::string> texts, texts_from_json(text));
  return Vocabulary::create(std::move(texts));
}

bool has_relative_path(const Config& config) {
  Config copy = config;
  return std::ranges::any_of(config_fields(copy), [](const Field& field) {
    return field.limits.is_path &&
           std::ranges::any_of(split_paths(field.text()),
                               [](const auto& path) { return !path.starts_with('/'); });
  });
}

absl::Status copy_into(const std::string& path, const std::map<std::string, const Array*>& arrays,
                       const std::string& name, Array target, CheckpointNumbers numbers) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return data_loss(path, ": ", "there is no tensor ", name);
  const Array& source = *found->second;
  if (source.shape() != target.shape() || source.dtype() != target.dtype()) {
    return data_loss(path, ": ", name, " is ", source.describe(), ", but the model needs ",
                     target.describe());
  }
  const int64_t count = numbers == CheckpointNumbers::kFinite ? not_finite_in(source).count : 0;
  if (count > 0) {
    return data_loss(path, ": ", count, " of the ", source.size(), " numbers of ", name,
                     " are not finite");
  }
  if (target.bytes() > 0) std::memcpy(target.mutable_raw(), source.raw(), target.bytes());
  return absl::OkStatus();
}

// Which size in a file's metadata no model can have, as the rest of a sentence; "" if all are good.
// So a hostile file cannot ask for memory that it does not fill.
std::string what_is_wrong(const DataShape& data, const ModelOptions& model,
                          const std::vector<std::string>& class_names) {
  constexpr int64_t kLargest = 1 << 20;
  const auto possible = [](int64_t size) { return size >= 1 && size <= kLargest; };
  constexpr const char* kOutOfRange = "has a size that is out of range";
  for (const auto& [key, size] : kSizes) {
    if (data.*size != 0 && !possible(data.*size)) return kOutOfRange;
  }
  if (data.vocabulary_size < 1) return kOutOfRange;
  const DataForm form = form_of(model.kind);
  const int64_t names = class_names.empty() ? data.vocabulary_size : std::ssize(class_names);
  if (form == DataForm::kClass && data.classes != names) {
    return absl::StrCat("has ", data.classes, " classes, but ",
                        class_names.empty() ? "a vocabulary of " : "names for ", names);
  }
  if (data.channels == 0 && data.height == 0 && data.width == 0) {
    const bool source_is_good = form != DataForm::kSourceTarget || data.source_length > 0;
    return data.max_length > 0 && source_is_good ? "" : kOutOfRange;
  }
  if (form != DataForm::kClass) {
    return absl::StrCat("has images, but the model is of the kind ", model.kind);
  }
  const int64_t patch = model.patch_size;
  if (data.height % patch != 0 || data.width % patch != 0) {
    return absl::StrCat("has images of ", data.height, " x ", data.width,
                        " pixels, but its config has patches of ", patch, " x ", patch);
  }
  const int64_t patches = data.height / patch * (data.width / patch);
  return possible(patches) && possible(data.channels * patch * patch) ? "" : kOutOfRange;
}

}  // namespace

Checkpoint checkpoint_of(const Config& config, const Dataset& dataset, const Model& model,
                         const Optimizer& optimizer, const RunState& state) {
  Checkpoint checkpoint;
  checkpoint.config = config;
  checkpoint.vocabulary = dataset.vocabulary();
  checkpoint.data_fingerprint = dataset.fingerprint();
  checkpoint.data = model.data();
  checkpoint.state = state;
  if (dataset.form() == DataForm::kClass && dataset.class_names() != dataset.vocabulary().texts()) {
    checkpoint.class_names = dataset.class_names();
  }
  for (const auto& [name, tensor] : parameters(model)) {
    checkpoint.arrays.push_back({name, tensor.array()});
  }
  for (const auto& [name, array] : optimizer.state()) {
    checkpoint.arrays.push_back({absl::StrCat(kOptimizerPrefix, name), array});
  }
  return checkpoint;
}

absl::Status save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  const RunState& state = checkpoint.state;
  TensorFile file = {.metadata = {}, .tensors = checkpoint.arrays};
  file.metadata = {{"format", kFormat},
                   {"config", to_toml(checkpoint.config)},
                   {"step", absl::StrCat(state.step)},
                   {"best_val_loss", absl::StrFormat("%.17g", state.best_val_loss)},
                   {"best_step", absl::StrCat(state.best_step)},
                   {"evaluations_since_best", absl::StrCat(state.evaluations_since_best)}};
  put_vocabulary(checkpoint.vocabulary, file.metadata);
  for (const auto& [key, size] : kSizes) {
    if (checkpoint.data.*size > 0) file.metadata[key] = absl::StrCat(checkpoint.data.*size);
  }
  if (!checkpoint.class_names.empty()) {
    file.metadata["class_names"] = nlohmann::json(checkpoint.class_names).dump();
  }
  if (std::error_code error; has_relative_path(checkpoint.config)) {
    file.metadata["trained_in"] = std::filesystem::current_path(error).string();
  }
  for (const auto& [key, text] : kTexts) {
    if (!(checkpoint.*text).empty()) file.metadata[key] = checkpoint.*text;
  }
  if (state.unwritten) file.metadata["unwritten_metrics"] = metrics_to_json(*state.unwritten);
  if (state.elapsed_seconds) {
    file.metadata["elapsed_seconds"] = absl::StrFormat("%.17g", *state.elapsed_seconds);
    file.metadata["seconds_since_log"] = absl::StrFormat("%.17g", state.seconds_since_log);
    file.metadata["tokens_since_log"] = absl::StrCat(state.tokens_since_log);
  }
  return write_safetensors(path, file);
}

absl::StatusOr<Checkpoint> load_checkpoint(const std::string& path) {
  ASSIGN_OR_RETURN(TensorFile file, read_safetensors(path));
  Metadata metadata(file.metadata);
  if (metadata.text("format") != kFormat) {
    return data_loss(path, ": this is a safetensors file, but not a checkpoint of qkv");
  }
  Checkpoint checkpoint;
  for (const auto& [key, size] : kSizes) {
    if (file.metadata.contains(key)) checkpoint.data.*size = metadata.integer(key);
  }
  checkpoint.state = {.step = metadata.integer("step"),
                      .best_val_loss = metadata.number("best_val_loss"),
                      .best_step = metadata.integer("best_step"),
                      .evaluations_since_best = 0,  // older files do not count them
                      .unwritten = {},
                      .elapsed_seconds = {}};
  if (file.metadata.contains("evaluations_since_best")) {
    checkpoint.state.evaluations_since_best = metadata.integer("evaluations_since_best");
  }
  if (file.metadata.contains("elapsed_seconds")) {
    checkpoint.state.elapsed_seconds = metadata.number("elapsed_seconds");
  }
  if (file.metadata.contains("tokens_since_log")) {
    checkpoint.state.tokens_since_log = metadata.integer("tokens_since_log");
    checkpoint.state.seconds_since_log = metadata.number("seconds_since_log");
  }
  if (file.metadata.contains("unwritten_metrics")) {
    absl::StatusOr<Metrics> metrics = metrics_from_json(metadata.text("unwritten_metrics"));
    if (!metrics.ok()) {
      return data_loss(path, ": ", "its unwritten metrics: ", metrics.status().message());
    }
    checkpoint.state.unwritten = *metrics;
  }
  const std::string toml = metadata.text("config"), texts = metadata.text("vocabulary");
  if (!metadata.missing().empty()) {
    return data_loss(path, ": ", "its metadata has no valid \"", metadata.missing(), "\"");
  }
  absl::StatusOr<Config> config = parse_saved_config(toml, absl::StrCat(path, " (config)"));
  if (!config.ok()) {
    return mistakes_error(lines_to_show(config.status()), absl::StatusCode::kDataLoss);
  }
  checkpoint.config = *std::move(config);
  absl::StatusOr<Vocabulary> vocabulary = file.metadata.contains("tokenizer")
                                              ? vocabulary_of_tokenizer(metadata.text("tokenizer"))
                                              : vocabulary_from_json(texts);
  if (!vocabulary.ok()) {
    return data_loss(path, ": ", "its vocabulary cannot be used: ", vocabulary.status().message());
  }
  checkpoint.vocabulary = *std::move(vocabulary);
  checkpoint.data.vocabulary_size = checkpoint.vocabulary.size();
  if (file.metadata.contains("class_names")) {
    absl::StatusOr<std::vector<std::string>> names = texts_from_json(metadata.text("class_names"));
    if (!names.ok()) {
      return data_loss(path, ": ", "its class names cannot be used: ", names.status().message());
    }
    checkpoint.class_names = *std::move(names);
  }
  checkpoint.trained_in = file.metadata["trained_in"];
  for (const auto& [key, text] : kTexts) checkpoint.*text = file.metadata[key];
  if (checkpoint.state.step < 0) return data_loss(path, ": its number of steps is negative");
  const std::string wrong =
      what_is_wrong(checkpoint.data, checkpoint.config.model, checkpoint.class_names);
  if (!wrong.empty()) return data_loss(path, ": ", "its metadata ", wrong);
  checkpoint.arrays = std::move(file.tensors);
  return checkpoint;
}

NotFinite not_finite_in(const Array& array) {
  if (kernels::all_finite(array)) return {};
  const std::vector<double> numbers = array.to_vector();
  const auto is_bad = [](double x) { return !std::isfinite(x); };
  return {.count = std::ranges::count_if(numbers, is_bad),
          .first = std::ranges::find_if(numbers, is_bad) - numbers.begin()};
}

absl::Status restore(const std::string& path, const Checkpoint& checkpoint, const Model& model,
                     Optimizer* optimizer, CheckpointNumbers numbers) {
  std::map<std::string, const Array*> arrays;
  for (const NamedArray& a : checkpoint.arrays) arrays[a.name] = &a.array;
  size_t used = 0;
  for (const auto& [name, tensor] : parameters(model)) {
    RETURN_IF_ERROR(copy_into(path, arrays, name, tensor.array(), numbers));
    ++used;
  }
  if (!optimizer) return absl::OkStatus();
  for (const auto& [name, array] : optimizer->state()) {
    RETURN_IF_ERROR(copy_into(path, arrays, absl::StrCat(kOptimizerPrefix, name), array, numbers));
    ++used;
  }
  if (used != arrays.size())
    return data_loss(path, ": it holds tensors that the model does not have");
  optimizer->set_steps(checkpoint.state.step);
  return absl::OkStatus();
}

std::string other_data(const Checkpoint& checkpoint, const Dataset& dataset) {
  const std::string &then = checkpoint.data_fingerprint, now = dataset.fingerprint();
  if (then.empty() || now.empty() || then == now) return "";
  return absl::StrCat(paths_to_show(checkpoint.config.data.path), " is not the ",
                      checkpoint.data.is_image() ? "data" : "text", " that the run learned from");
}

absl::StatusOr<Model> restore_model(const std::string& path, const Checkpoint& checkpoint) {
  // A config that asks for more than the file holds is refused before anything is made from it.
  int64_t held = 0;
  for (const NamedArray& a : checkpoint.arrays) held += a.array.size();
  if (count_parameters(checkpoint.config, checkpoint.data) > held) {
    return data_loss(path, ": its config describes a larger model than the file holds");
  }
  Model model = make_model(checkpoint.config, checkpoint.data);
  RETURN_IF_ERROR(restore(path, checkpoint, model, nullptr));
  return model;
}

}  // namespace qkv
