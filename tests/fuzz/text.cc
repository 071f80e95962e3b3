#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "data/dataset.h"
#include "data/file.h"
#include "data/tasks/tasks.h"
#include "data/text/token_store.h"
#include "framework/io/safetensors_checksums.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"
#include "tests/read_text.h"

namespace qkv {
namespace {

// The tokens of a row that count, behind the input that the first of them follows.
std::string text_of_row(const Dataset& dataset, const Batch& batch, int64_t row) {
  const int64_t length = batch.targets.shape()[1];
  const int64_t* inputs = batch.inputs[0].data<int64_t>() + row * length;
  const int64_t* targets = batch.targets.data<int64_t>() + row * length;
  std::vector<int64_t> tokens = {inputs[0]};
  for (int64_t t = 0; t < length && targets[t] != kIgnoredTarget; ++t) {
    require(t + 1 == length || targets[t + 1] == kIgnoredTarget || inputs[t + 1] == targets[t],
            "an input is the target before it");
    tokens.push_back(targets[t]);
  }
  return dataset.vocabulary().decode(tokens);
}

std::vector<std::string> rows_of(const Dataset& dataset, const Batch& batch) {
  std::vector<std::string> rows;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    rows.push_back(text_of_row(dataset, batch, row));
  }
  return rows;
}

// The text of a file with these bytes, which keeps what read_text() promises; "" when it is an
// error.
std::string text_of(const ScratchFile& file, std::string_view input) {
  absl::StatusOr<std::string> text = read_text(file.path());
  if (!text.ok()) {
    require_good_message(text.status(), {file.path() + ":"});
    return "";
  }
  if (input.starts_with("\xEF\xBB\xBF")) input.remove_prefix(3);
  require(is_utf8(*text) && !text->empty() &&
              *text == absl::StrReplaceAll(std::string(input), {{"\r\n", "\n"}, {"\r", "\n"}}),
          "a text is that of the file", *text);
  return *std::move(text);
}

std::unique_ptr<Dataset> dataset_of(const ScratchFile& file, const DataOptions& options) {
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(options, 1);
  if (dataset.ok()) return *std::move(dataset);
  require_good_message(dataset.status(), {file.path() + ":"});
  return nullptr;
}

void require_sound(const std::optional<TextTokens>& text) {
  require(!text || (text->training_tokens >= 0 && text->training_tokens <= text->tokens.size() &&
                    text->vocabulary.size() > 0),
          "the tokens for training are some of all");
}

// Files of the tasks "text" and "lines": both parts of the data set are what the file says.
void fuzz_text(std::string_view input) {
  static const ScratchFile file("text.txt");
  file.write(input);
  const std::string text = text_of(file, input);

  DataOptions options;
  options.task = "text";
  options.path = file.path();
  options.length = 1 + std::ssize(input) % 7;
  options.train_fraction = 0.6;
  const std::unique_ptr<Dataset> dataset = dataset_of(file, options);
  require(dataset == nullptr || !text.empty(), "a data set has a text");
  if (dataset == nullptr) return;
  const Vocabulary& vocabulary = dataset->vocabulary();
  require(vocabulary.decode(*vocabulary.encode(text)) == text, "tokens say what the text says",
          text);

  // Each validation window begins with the last character of the one before it.
  std::string validation;
  const Batch batch = dataset->validation_batch(0, dataset->validation_size());
  for (const std::string& window : rows_of(*dataset, batch)) {
    const Vocabulary window_vocabulary = *Vocabulary::of_characters(window);
    std::vector<int64_t> tokens = *window_vocabulary.encode(window);
    if (!validation.empty()) tokens.erase(tokens.begin());
    validation += window_vocabulary.decode(tokens);
  }
  require(text.ends_with(validation) && validation.size() < text.size(),
          "validation is the end of the text", validation);
  const size_t training = text.size() - validation.size();
  for (const std::string& window : rows_of(*dataset, dataset->training_batch(0, 2))) {
    require(text.substr(0, training).find(window) != text.npos,
            "a training window is part of the rest", window);
  }
  require_can_be_shown(*dataset);
}
const bool kTextIsAdded = add_fuzz_target({"text", fuzz_text});

// A file of the cache of tokens: JSON up to the first NUL, then tokens, around which all checksums
// are put right. What is no file of the cache is none.
void fuzz_cached_text(std::string_view input) {
  static const ScratchFile file("text.tokens");
  const std::string &path = file.path(), key = "k";
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string json(input.substr(0, end));
  file.write(input);
  require_sound(load_tokens(path, key));

  TokenWriter writer(256, *LargeFile::create(path));
  std::vector<int64_t> bytes;
  for (const char byte : input.substr(std::min(end + 1, input.size()))) {
    bytes.push_back(static_cast<unsigned char>(byte));
  }
  require(writer.add(bytes).ok() && writer.finish().ok(), "tokens can be written");
  const std::array<uint64_t, 2> numbers = {json.size(), checksum_number(json)};
  const std::string_view ending(reinterpret_cast<const char*>(&numbers), sizeof numbers);
  require(writer.file().append(absl::StrCat(json, std::string(ending), "qkv text")).ok() &&
              writer.file().keep().ok(),
          "a file of the cache can be written");
  const std::optional<TextTokens> text = load_tokens(path, key);
  require_sound(text);
  if (!text) return;
  std::vector<int64_t> tokens(static_cast<size_t>(text->tokens.size()));
  text->tokens.read(0, tokens);
  const bool one_byte = text->tokens.token_bytes() == 1;
  require(!one_byte || tokens.size() > bytes.size() ||
              std::equal(tokens.begin(), tokens.end(), bytes.begin()),
          "tokens are those of the file");
}
const bool kCachedTextIsAdded = add_fuzz_target({"cached_text", fuzz_cached_text});

void fuzz_lines(std::string_view input) {
  static const ScratchFile file("lines.txt");
  file.write(input);
  const std::string text = text_of(file, input);

  DataOptions options;
  options.task = "lines";
  options.path = file.path();
  options.train_fraction = 0.5;
  const std::unique_ptr<Dataset> dataset = dataset_of(file, options);
  require(dataset == nullptr || !text.empty(), "a data set has a text");
  if (dataset == nullptr) return;

  std::vector<std::string> training =
      rows_of(*dataset, dataset->training_batch(0, dataset->training_size()));
  std::vector<std::string> validation =
      rows_of(*dataset, dataset->validation_batch(0, dataset->validation_size()));
  std::ranges::sort(training);
  std::ranges::sort(validation);
  require(std::ranges::adjacent_find(validation) == validation.end(),
          "validation asks each line once");
  size_t training_lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string example = absl::StrCat("\n", line, "\n");
    const bool trained = std::ranges::binary_search(training, example);
    require(trained != std::ranges::binary_search(validation, example),
            "a line is on one side of the two", example);
    training_lines += trained ? 1 : 0;
  }
  require(training_lines == training.size(), "training has the lines of its side");
  require_can_be_shown(*dataset);
}
const bool kLinesIsAdded = add_fuzz_target({"lines", fuzz_lines});

}  // namespace
}  // namespace qkv
