#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/exchange/hugging_face/folder.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/status.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

constexpr uint64_t kMostBytes = 1 << 27;

bool has(const std::string& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / name, ignored);
}

// Each token must have a row of the embedding.
absl::StatusOr<Vocabulary> vocabulary_of(const std::string& folder, int64_t rows) {
  if (!has(folder, "tokenizer.json")) {
    return failed_precondition(
        folder, ": holds no tokenizer.json, which says what its ", rows,
        " tokens are; in Python, from transformers import AutoTokenizer, and "
        "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
  }
  const std::string path = absl::StrCat(folder, "/tokenizer.json");
  absl::StatusOr<Vocabulary> vocabulary = read_tokenizer(path);
  if (!vocabulary.ok() || vocabulary->size() <= rows) return vocabulary;
  return invalid_argument(path, ": has ", vocabulary->size(),
                          " tokens, but \"vocab_size\" of config.json is ", rows);
}

// Names of classes may be of several words, or twice there, as those of a vocabulary may not.
absl::StatusOr<Vocabulary> vocabulary_of(const std::vector<std::string>& class_names) {
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::create(class_names);
  if (vocabulary.ok()) return vocabulary;
  std::vector<std::string> numbers;
  for (size_t i = 0; i < class_names.size(); ++i) numbers.push_back(absl::StrCat(i));
  return Vocabulary::create(std::move(numbers));
}

// model.safetensors, or where there are several their index.
std::string weights_of(const std::string& folder) {
  const char* name = "model.safetensors";
  for (const char* other : {"model.safetensors.index.json", "pytorch_model.bin"}) {
    if (!has(folder, name) && has(folder, other)) name = other;
  }
  return (std::filesystem::path(folder) / name).lexically_normal().string();
}

// The files that an index names, beside it; or the file itself, which is none.
absl::StatusOr<std::set<std::string>> files_of(const std::string& path) {
  if (!absl::EndsWith(path, ".json")) return std::set<std::string>{path};
  ASSIGN_OR_RETURN(const std::string text, read_regular_file(path, kMostBytes));
  const auto index = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) {
    return data_loss(path, ": is not a JSON object with a weight_map");
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      return data_loss(path, ": the file of \"", printable(tensor), "\" is ", shown(file),
                       ", which is not the name of a file beside it");
    }
    files.insert(std::filesystem::path(path).replace_filename(name));
  }
  return files;
}

// Those that the model has.
absl::StatusOr<std::vector<NamedArray>> read_weights(
    const std::string& path, const std::vector<HuggingFaceTensor>& tensors) {
  ASSIGN_OR_RETURN(const std::set<std::string> files, files_of(path));
  std::set<std::string> names;
  for (const HuggingFaceTensor& tensor : tensors) names.merge(names_of(tensor));
  std::vector<NamedArray> arrays;
  for (const std::string& file : files) {
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

// Leaves out the rows without a token: a model never writes them.
void drop_rows(Checkpoint& checkpoint, const TellNote& tell) {
  const int64_t rows = checkpoint.data.vocabulary_size, tokens = checkpoint.vocabulary.size();
  if (checkpoint.data.is_image() || tokens == rows) return;
  for (auto& [name, array] : checkpoint.arrays) {
    if (name != "token_embedding.weight" && name != "head.weight") continue;
    Array first({tokens, array.shape()[1]}, array.dtype());
    std::memcpy(first.mutable_raw(), array.raw(), first.bytes());
    array = first;
  }
  checkpoint.data.vocabulary_size = tokens;
  tell(absl::StrCat(checkpoint.imported_from, ": the last ", rows - tokens, " of ", rows,
                    " rows of the token embedding are left out: tokenizer.json has ", tokens,
                    " tokens"));
}

absl::Status write_run(const std::string& run, const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::create(run, checkpoint.config));
  absl::Status status;
  if (!checkpoint.data.is_image()) {
    status = write_file_atomically(folder.tokenizer(), any_tokenizer_json(checkpoint.vocabulary));
  }
  for (const std::string& path : {folder.last_checkpoint(), folder.best_checkpoint()}) {
    if (status.ok()) status = save_checkpoint(path, checkpoint);
  }
  return status;
}

}  // namespace

absl::Status import_hugging_face(const std::string& folder, const std::string& run,
                                 const TellNote& tell) {
  const std::string config_path = absl::StrCat(folder, "/config.json");
  ASSIGN_OR_RETURN(const std::string text, read_regular_file(config_path, kMostBytes));
  ASSIGN_OR_RETURN(const HuggingFaceConfig there, parse_hugging_face_config(text, config_path));
  const bool is_decoder = there.kind == HuggingFaceKind::kGpt2;
  ASSIGN_OR_RETURN(Vocabulary vocabulary, is_decoder
                                              ? vocabulary_of(folder, there.data.vocabulary_size)
                                              : vocabulary_of(there.class_names));
  const std::string path = weights_of(folder);
  const std::vector<HuggingFaceTensor> tensors =
      hugging_face_tensors(there.kind, there.model, there.data);
  ASSIGN_OR_RETURN(const std::vector<NamedArray> weights, read_weights(path, tensors));
  absl::StatusOr<std::vector<NamedArray>> arrays = from_hugging_face(tensors, weights);
  if (!arrays.ok()) {
    return data_loss(path, ": ", arrays.status().message());
  }
  Checkpoint checkpoint;
  checkpoint.vocabulary = std::move(vocabulary);
  checkpoint.class_names = there.class_names;
  checkpoint.imported_from = path;
  checkpoint.data = there.data;
  Config& config = checkpoint.config;
  config.name = std::filesystem::path(run + "/").parent_path().filename();
  config.model = there.model;
  config.data.task = is_decoder ? "text" : "idx";
  if (is_decoder) {
    config.data.length = there.data.max_length;
    config.data.tokens = TokenKind::kTokenizer;
    config.data.tokenizer = absl::StrCat(run, "/tokenizer.json");
  }
  config.train.batch_size = 1;  // the logits of one long sequence are many
  checkpoint.arrays = in_one_type(*std::move(arrays), config.train);
  drop_rows(checkpoint, tell);
  const absl::StatusOr<Config> read = parse_saved_config(to_toml(config), config_path);
  return read.ok() ? write_run(run, checkpoint) : read.status();
}

}  // namespace qkv
