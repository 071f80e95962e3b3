#include <algorithm>

#include "absl/strings/str_cat.h"
#include "data/batch_builder.h"
#include "data/file.h"
#include "data/tasks/files.h"
#include "data/tasks/tasks.h"
#include "data/vocabulary_builder.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

class TextDataset final : public Dataset {
 public:
  TextDataset(Vocabulary vocabulary, std::string fingerprint, std::vector<int64_t> tokens,
              int64_t training_tokens, int64_t length, uint64_t seed)
      : Dataset(std::move(vocabulary)),
        fingerprint_(std::move(fingerprint)),
        tokens_(std::move(tokens)),
        training_tokens_(training_tokens),
        length_(length),
        stream_(seed) {}

  bool has_answers() const override { return false; }
  DataShape shape() const override {
    return {.vocabulary_size = vocabulary().size(), .max_length = length_};
  }
  std::string fingerprint() const override { return fingerprint_; }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    check_training_batch(index, batch_size);
    BatchBuilder builder(batch_size, length_, 0);
    const RandomStream stream =
        stream_.derive("training windows").derive(static_cast<uint64_t>(index));
    const auto places = static_cast<uint64_t>(training_tokens_ - length_);
    for (int64_t row = 0; row < batch_size; ++row) {
      const auto place = stream.derive(static_cast<uint64_t>(row)).below(places);
      builder.set_row(row, part(static_cast<int64_t>(place), length_ + 1), 1);
    }
    return builder.batch();
  }

  // Every token of the part but its first is a target once.
  int64_t validation_size() const override {
    const int64_t targets = static_cast<int64_t>(tokens_.size()) - training_tokens_ - 1;
    return (targets + length_ - 1) / length_;
  }

  Batch validation_batch(int64_t first, int64_t count) const override {
    check_validation_range(first, count, validation_size());
    BatchBuilder builder(count, length_, 0);
    for (int64_t row = 0; row < count; ++row) {
      builder.set_row(row, validation_window(first + row), 1);
    }
    return builder.batch();
  }

  Example validation_example(int64_t index) const override {
    check_validation_range(index, 1, validation_size());
    const std::span<const int64_t> window = validation_window(index);
    const auto middle = window.begin() + static_cast<int64_t>(window.size()) / 2;
    return Example{{window.begin(), middle}, {middle, window.end()}};
  }

 private:
  std::span<const int64_t> part(int64_t place, int64_t length) const {
    return std::span(tokens_).subspan(static_cast<size_t>(place), static_cast<size_t>(length));
  }

  // A window and the target of its last token, which the next window begins with.
  std::span<const int64_t> validation_window(int64_t index) const {
    const int64_t place = training_tokens_ + index * length_;
    return part(place, std::min(length_ + 1, static_cast<int64_t>(tokens_.size()) - place));
  }

  std::string fingerprint_;
  std::vector<int64_t> tokens_;
  int64_t training_tokens_;
  int64_t length_;
  RandomStream stream_;
};

absl::Status check_part(const DataOptions& options, const std::string& path, const char* name,
                        int64_t part, int64_t whole) {
  const int64_t needed = options.length + 1;
  if (part >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is too short: ", part, " of its ", whole, " tokens are for ", name,
      ", but a window of data.length = ", options.length, " needs ", needed, "; use a longer text",
      part > 1 ? absl::StrCat(" or a length of at most ", part - 1) : ""));
}

// How many bytes the first characters of a text take, of which there are this share.
size_t bytes_of_characters(std::string_view text, double share) {
  const auto begins = [](char c) { return (c & 0xC0) != 0x80; };
  auto left =
      static_cast<int64_t>(static_cast<double>(std::ranges::count_if(text, begins)) * share);
  size_t bytes = 0;
  while (bytes < text.size() && (left > 0 || !begins(text[bytes]))) left -= begins(text[bytes++]);
  return bytes;
}

absl::StatusOr<std::unique_ptr<Dataset>> make_text(const DataOptions& options, uint64_t seed,
                                                   DataForm /*form*/) {
  absl::StatusOr<std::string> text = read_text(options.path);
  if (!text.ok()) return text.status();
  const bool has_file = !options.validation_path.empty();
  const absl::StatusOr<std::string> other =
      has_file ? read_text(options.validation_path) : absl::StatusOr<std::string>("");
  if (!other.ok()) return other.status();

  const std::string_view whole_text = *text;
  const size_t cut =
      has_file ? whole_text.size() : bytes_of_characters(whole_text, options.train_fraction);
  const std::string_view parts[] = {whole_text.substr(0, cut),
                                    has_file ? *other : whole_text.substr(cut)};
  VocabularyBuilder builder(options.tokens, options.vocabulary_size);
  builder.add(parts[0]);
  builder.add_validation(parts[1]);
  const auto vocabulary = builder.build();
  if (!vocabulary.ok()) return vocabulary.status();
  std::vector<int64_t> tokens;
  if (absl::Status status = vocabulary->encode(parts[0], tokens); !status.ok()) return status;
  const auto training = std::ssize(tokens);
  if (absl::Status status = vocabulary->encode(parts[1], tokens); !status.ok()) return status;
  const auto whole = has_file ? training : std::ssize(tokens);

  const std::string& validation_path = has_file ? options.validation_path : options.path;
  const int64_t validation = std::ssize(tokens) - training;
  for (const auto& status : {check_part(options, options.path, "training", training, whole),
                             check_part(options, validation_path, "validation", validation,
                                        has_file ? validation : whole)}) {
    if (!status.ok()) return status;
  }
  const std::string fingerprint =
      has_file ? fingerprint_of(absl::StrCat(fingerprint_of(*text), fingerprint_of(*other)))
               : fingerprint_of(*text);
  return std::make_unique<TextDataset>(*vocabulary, fingerprint, std::move(tokens), training,
                                       options.length, seed);
}

// Its windows are those of validation.
absl::StatusOr<std::unique_ptr<Dataset>> judge_text(const DataOptions& options,
                                                    const KnownData& known) {
  const auto text = read_text(options.path);
  if (!text.ok()) return text.status();
  auto tokens = encode_lines(options.path, *text, known.vocabulary);
  if (!tokens.ok()) return tokens.status();
  const auto whole = std::ssize(*tokens);
  DataOptions windows = options;
  windows.length = std::min(options.length, known.most.max_length);
  if (absl::Status status = check_part(windows, options.path, "validation", whole, whole);
      !status.ok()) {
    return status;
  }
  return std::make_unique<TextDataset>(known.vocabulary, fingerprint_of(*text), *std::move(tokens),
                                       0, windows.length, 1);
}

void check_text(const DataOptions& options, OptionChecker& check) {
  check_path("text", options, check);
  check_tokens(options, check);
  check.range("length", options.length, 1, kMaxLength);
  check.range("train_fraction", options.train_fraction, 0.001, 0.999);
}

}  // namespace

// The tokens of the file data.path. The first train_fraction of its characters is for training, in
// windows at random places; validation is the whole rest, cut into windows that follow one another,
// of which the last may be shorter. An error when the file
// cannot be read or a part is shorter than one window and its targets.
TaskKind text_task() {
  return {.name = "text",
          .keys = {"path", "validation_path", "tokens", "length", "train_fraction"},
          .check = check_text,
          .make = make_text,
          .answer_length = [](const DataOptions&, int64_t) { return kTextLength; },
          .judge = judge_text,
          .is_running_text = true};
}

}  // namespace qkv
