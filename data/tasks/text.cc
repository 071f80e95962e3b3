#include "data/batch_builder.h"
#include "data/file.h"
#include "data/tasks/task_kit.h"
#include "data/text/text_tokens.h"
#include "framework/core/random.h"
#include "framework/core/status.h"

namespace qkv {
namespace {

class TextDataset final : public Dataset {
 public:
  TextDataset(ReadText read, int64_t length, uint64_t seed)
      : Dataset(std::move(read.text.vocabulary)),
        fingerprint_(std::move(read.text.fingerprint)),
        notes_(std::move(read.notes)),
        tokens_(std::move(read.text.tokens)),
        training_tokens_(read.text.training_tokens),
        length_(length),
        stream_(seed) {}

  bool has_answers() const override { return false; }
  DataShape shape() const override {
    return {.vocabulary_size = vocabulary().size(), .max_length = length_};
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<std::string> notes() const override { return notes_; }

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
    const int64_t targets = tokens_.size() - training_tokens_ - 1;
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
    const std::vector<int64_t> window = validation_window(index);
    const auto middle = window.begin() + window.size() / 2;
    return Example{{window.begin(), middle}, {middle, window.end()}};
  }

 private:
  std::vector<int64_t> part(int64_t place, int64_t length) const {
    std::vector<int64_t> tokens(static_cast<size_t>(length));
    tokens_.read(place, tokens);
    return tokens;
  }

  // A window and the target of its last token, which the next window begins with.
  std::vector<int64_t> validation_window(int64_t index) const {
    const int64_t place = training_tokens_ + index * length_;
    return part(place, std::min(length_ + 1, tokens_.size() - place));
  }

  std::string fingerprint_;
  std::vector<std::string> notes_;
  TokenStore tokens_;
  int64_t training_tokens_;
  int64_t length_;
  RandomStream stream_;
};

absl::Status check_part(const DataOptions& options, const std::string& paths, const char* name,
                        int64_t part, int64_t whole) {  // whole: of one file, or 0
  const int64_t needed = options.length + 1;
  if (part >= needed) return absl::OkStatus();
  return invalid_argument(
      paths_to_show(paths), ": is too short: ", part,
      whole > 0 ? absl::StrCat(" of its ", whole) : "", " tokens are for ", name,
      ", but a window of data.length = ", options.length, " needs ", needed, "; use a longer text",
      part > 1 ? absl::StrCat(", or --set data.length=", part - 1, " or less") : "");
}

absl::StatusOr<std::unique_ptr<Dataset>> make_text(const DataOptions& options, uint64_t seed,
                                                   DataForm /*form*/, const Wait& wait) {
  ASSIGN_OR_RETURN(ReadText read, read_text_tokens(options, wait));
  const int64_t training = read.text.training_tokens, all = read.text.tokens.size();
  const bool has_file = !options.validation_path.empty();
  const std::string& validation_path = has_file ? options.validation_path : options.path;
  const int64_t whole = has_file ? 0 : all;
  RETURN_IF_ERROR(check_part(options, options.path, "training", training, whole));
  RETURN_IF_ERROR(check_part(options, validation_path, "validation", all - training, whole));
  return std::make_unique<TextDataset>(std::move(read), options.length, seed);
}

// Its windows are those of validation.
absl::StatusOr<std::unique_ptr<Dataset>> judge_text(const DataOptions& options,
                                                    const KnownData& known, const Wait& wait) {
  ASSIGN_OR_RETURN(ReadText read, read_known_tokens(options, known.vocabulary, wait));
  const int64_t whole = read.text.tokens.size();
  DataOptions windows = options;
  windows.length = std::min(options.length, known.most.max_length);
  RETURN_IF_ERROR(check_part(windows, options.path, "validation", whole, whole));
  return std::make_unique<TextDataset>(std::move(read), windows.length, 1);
}

void check_text(const DataOptions& options, OptionChecker& check) {
  check_path("text", options, check);
  check_tokens(options, check);
  check.range("length", options.length, 1, kMaxLength);
  check_shares(options, check);
}

}  // namespace

// The tokens of the files data.path, one after the other. The first train_fraction of their
// characters is for training, in windows at random places; validation is the whole rest, or
// data.validation_path, cut into windows that follow one another; the last may be shorter. An error
// when a file cannot be read or a part is shorter than one window and its targets.
TaskKind text_task() {
  return {.name = "text",
          .keys = {"path", "validation_path", "tokens", "length", "train_fraction"},
          .check = check_text,
          .make = make_text,
          .answer_length = [](const DataOptions&, int64_t) { return kTextLength; },
          .judge = judge_text,
          .is_running_text = true,
          .reads_many_files = true};
}

}  // namespace qkv
