#include "train/run/hugging_face_run.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/tokenizer_json.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"
#include "train/hugging_face/config_json.h"

namespace qkv {
namespace {

constexpr uint64_t kMostBytes = 1 << 27;

bool has(const std::string& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / name, ignored);
}

// None where there is no tokenizer. Each token must have a row of the embedding.
absl::StatusOr<Vocabulary> vocabulary_of(const std::string& folder, int64_t rows) {
  if (!has(folder, "tokenizer.json")) return Vocabulary();
  const std::string path = absl::StrCat(folder, "/tokenizer.json");
  absl::StatusOr<Vocabulary> vocabulary = read_tokenizer(path);
  if (!vocabulary.ok() || vocabulary->size() <= rows) return vocabulary;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": has ", vocabulary->size(), " tokens, but \"vocab_size\" of config.json is ", rows));
}

// The files that an index names, beside it; or the file itself, which is none.
absl::StatusOr<std::set<std::string>> files_of(const std::string& path) {
  if (!absl::EndsWith(path, ".json")) return std::set<std::string>{path};
  const absl::StatusOr<std::string> text = read_regular_file(path, kMostBytes);
  if (!text.ok()) return text.status();
  const auto index = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) {
    return absl::DataLossError(absl::StrCat(path, ": is no JSON object with a weight_map"));
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      return absl::DataLossError(absl::StrCat(path, ": the file of \"", printable(tensor), "\" is ",
                                              shown(file),
                                              ", which is no name of a file beside it"));
    }
    files.insert(std::filesystem::path(path).replace_filename(name));
  }
  return files;
}

// Those that the model has.
absl::StatusOr<std::vector<NamedArray>> read_weights(
    const std::string& path, const std::vector<HuggingFaceTensor>& tensors) {
  const absl::StatusOr<std::set<std::string>> files = files_of(path);
  if (!files.ok()) return files.status();
  std::set<std::string> names;
  for (const HuggingFaceTensor& tensor : tensors) names.merge(names_of(tensor));
  std::vector<NamedArray> arrays;
  for (const std::string& file : *files) {
    absl::StatusOr<TensorFile> read = read_safetensors(
        file, [&](const TensorEntry& entry) { return names.contains(entry.name); });
    if (!read.ok()) return read.status();
    std::ranges::move(read->tensors, std::back_inserter(arrays));
  }
  return arrays;
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

// Leaves out the rows for which there are no tokens: a model never writes them.
void drop_rows(Checkpoint& checkpoint, const std::string& path) {
  const int64_t rows = checkpoint.data.vocabulary_size, tokens = checkpoint.vocabulary.size();
  if (tokens == 0 || tokens == rows) return;
  for (auto& [name, array] : checkpoint.arrays) {
    if (name != "token_embedding.weight" && name != "head.weight") continue;
    Array first({tokens, array.shape()[1]}, array.dtype());
    std::memcpy(first.mutable_raw(), array.raw(), first.bytes());
    array = first;
  }
  checkpoint.data.vocabulary_size = tokens;
  checkpoint.notes.push_back(absl::StrCat(
      path, ": the last ", rows - tokens, " of ", rows,
      " rows of the token embedding are left out: tokenizer.json has ", tokens, " tokens"));
}

}  // namespace

bool is_hugging_face(const std::string& folder) {
  return has(folder, "config.json") && !has(folder, "config.toml");
}

std::string weights_of_hugging_face(const std::string& folder) {
  const char* name = "model.safetensors";
  for (const char* other : {"model.safetensors.index.json", "pytorch_model.bin"}) {
    if (!has(folder, name) && has(folder, other)) name = other;
  }
  return (std::filesystem::path(folder) / name).lexically_normal().string();
}

absl::StatusOr<Checkpoint> load_hugging_face(const std::string& folder) {
  const std::string config_path = absl::StrCat(folder, "/config.json");
  const absl::StatusOr<std::string> text = read_regular_file(config_path, kMostBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<HuggingFaceConfig> config = parse_hugging_face_config(*text, config_path);
  if (!config.ok()) return config.status();
  const bool is_decoder = config->kind == HuggingFaceKind::kGpt2;
  absl::StatusOr<Vocabulary> vocabulary = is_decoder
                                              ? vocabulary_of(folder, config->data.vocabulary_size)
                                              : Vocabulary::create(config->class_names);
  if (!vocabulary.ok() && is_decoder) return vocabulary.status();
  const std::string path = weights_of_hugging_face(folder);
  const std::vector<HuggingFaceTensor> tensors =
      hugging_face_tensors(config->kind, config->model, config->data);
  const absl::StatusOr<std::vector<NamedArray>> weights = read_weights(path, tensors);
  if (!weights.ok()) return weights.status();
  absl::StatusOr<std::vector<NamedArray>> arrays = from_hugging_face(tensors, *weights);
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
  if (is_decoder) drop_rows(checkpoint, path);
  return checkpoint;
}

}  // namespace qkv
