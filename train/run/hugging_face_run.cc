#include "train/run/hugging_face_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/tokenizer_json.h"
#include "framework/io/files.h"
#include "train/hugging_face/config_json.h"

namespace qkv {
namespace {

bool has(const std::string& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / name, ignored);
}

// None where there is no tokenizer. Each token must have a row of the embedding, and the other way
// round.
absl::StatusOr<Vocabulary> vocabulary_of(const std::string& folder, int64_t rows) {
  if (!has(folder, "tokenizer.json")) return Vocabulary();
  const std::string path = absl::StrCat(folder, "/tokenizer.json");
  absl::StatusOr<Vocabulary> vocabulary = read_tokenizer(path);
  if (!vocabulary.ok() || vocabulary->size() == rows) return vocabulary;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": has ", vocabulary->size(), " tokens, but \"vocab_size\" of config.json is ", rows));
}

// Files hold any floating-point type; f64 stays what it is, and all else becomes f32.
std::vector<NamedArray> in_one_type(std::vector<NamedArray> arrays, TrainOptions& train) {
  const bool wide = std::ranges::any_of(
      arrays, [](const NamedArray& named) { return named.array.dtype() == DType::f64; });
  const DType dtype = wide ? DType::f64 : DType::f32;
  train.precision = wide ? Precision::kF64 : Precision::kF32;
  for (auto& [name, array] : arrays) {
    if (array.dtype() != dtype) array = Array::of(array.shape(), dtype, array.to_vector());
  }
  return arrays;
}

}  // namespace

bool is_hugging_face(const std::string& folder) {
  return has(folder, "config.json") && !has(folder, "config.toml");
}

std::string weights_of_hugging_face(const std::string& folder) {
  return (std::filesystem::path(folder) / "model.safetensors").lexically_normal().string();
}

absl::StatusOr<Checkpoint> load_hugging_face(const std::string& folder) {
  constexpr uint64_t kMostBytes = 1 << 27;
  const std::string config_path = absl::StrCat(folder, "/config.json");
  const absl::StatusOr<std::string> text = read_file(config_path, kMostBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<HuggingFaceConfig> config = parse_hugging_face_config(*text, config_path);
  if (!config.ok()) return config.status();
  const bool is_decoder = config->kind == HuggingFaceKind::kGpt2;
  absl::StatusOr<Vocabulary> vocabulary = is_decoder
                                              ? vocabulary_of(folder, config->data.vocabulary_size)
                                              : Vocabulary::create(config->class_names);
  if (!vocabulary.ok() && is_decoder) return vocabulary.status();
  const std::string path = weights_of_hugging_face(folder);
  absl::StatusOr<TensorFile> file = read_safetensors(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::vector<NamedArray>> arrays = from_hugging_face(
      hugging_face_tensors(config->kind, config->model, config->data), file->tensors);
  if (!arrays.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", arrays.status().message()));
  }
  Checkpoint checkpoint;
  checkpoint.config.model = config->model;
  checkpoint.config.data.task = is_decoder ? "text" : "idx";
  checkpoint.config.data.path = folder;
  if (is_decoder) {
    checkpoint.config.data.length = config->data.max_length;
    checkpoint.config.data.tokens = TokenKind::kTokenizer;
    checkpoint.config.data.tokenizer = absl::StrCat(folder, "/tokenizer.json");
  }
  checkpoint.config.train.batch_size = 1;  // the logits of one long sequence are many
  checkpoint.vocabulary = vocabulary.ok() ? *std::move(vocabulary) : Vocabulary();
  checkpoint.class_names = std::move(config->class_names);
  checkpoint.data = config->data;
  checkpoint.arrays = in_one_type(*std::move(arrays), checkpoint.config.train);
  return checkpoint;
}

}  // namespace qkv
