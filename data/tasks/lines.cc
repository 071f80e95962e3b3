#include <iterator>
#include <map>

#include "data/batch_builder.h"
#include "data/file.h"
#include "data/file_mistakes.h"
#include "data/paths.h"
#include "data/split.h"
#include "data/tasks/files.h"
#include "data/tasks/kit.h"
#include "data/text/text_lines.h"
#include "data/vocabulary_builder.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

constexpr int64_t kLongestLine = 1024;  // characters

constexpr char kLineEnd[] = "\n";

class LinesDataset final : public Dataset {
 public:
  // Every line begins and ends with the token of "\n".
  LinesDataset(Vocabulary vocabulary, std::string fingerprint, std::vector<Tokens> training,
               std::vector<Tokens> validation, uint64_t seed, std::vector<std::string> notes)
      : Dataset(std::move(vocabulary)),
        fingerprint_(std::move(fingerprint)),
        training_(std::move(training)),
        validation_(std::move(validation)),
        stream_(seed),
        notes_(std::move(notes)) {
    for (const auto* lines : {&training_, &validation_}) {
      for (const Tokens& line : *lines) {
        length_ = std::max(length_, static_cast<int64_t>(line.size()) - 1);
      }
    }
  }

  bool has_answers() const override { return false; }
  DataShape shape() const override {
    return {.vocabulary_size = vocabulary().size(), .max_length = length_};
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<std::string> notes() const override { return notes_; }
  int64_t training_size() const override { return static_cast<int64_t>(training_.size()); }
  int64_t validation_size() const override { return static_cast<int64_t>(validation_.size()); }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    check_training_batch(index, batch_size);
    const bool everything = training_size() <= batch_size;
    const int64_t rows = everything ? training_size() : batch_size;
    BatchBuilder builder(rows, length_, newline());
    const RandomStream stream =
        stream_.derive("training lines").derive(static_cast<uint64_t>(index));
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t chosen =
          everything ? static_cast<uint64_t>(row)
                     : stream.derive(static_cast<uint64_t>(row)).below(training_.size());
      builder.set_row(row, training_[chosen], 1);
    }
    return builder.batch();
  }

  Batch validation_batch(int64_t first, int64_t count) const override {
    check_validation_range(first, count, validation_size());
    BatchBuilder builder(count, length_, newline());
    for (int64_t row = 0; row < count; ++row) {
      builder.set_row(row, validation_[static_cast<size_t>(first + row)], 1);
    }
    return builder.batch();
  }

  Example validation_example(int64_t index) const override {
    check_validation_range(index, 1, validation_size());
    const Tokens& line = validation_[static_cast<size_t>(index)];
    return Example{{line.front()}, {line.begin() + 1, line.end()}};
  }

 private:
  int64_t newline() const { return validation_.front().front(); }

  std::string fingerprint_;
  std::vector<Tokens> training_;
  std::vector<Tokens> validation_;
  int64_t length_ = 1;
  RandomStream stream_;
  std::vector<std::string> notes_;
};

// Adds the lines that are too long to the mistakes.
void find_long_lines(const std::vector<LineOfFile>& lines, FileMistakes& mistakes) {
  for (const LineOfFile& line : lines) {
    const int64_t characters = characters_in(line.text);
    if (characters <= kLongestLine) continue;
    mistakes.add(
        line.path, line.number,
        absl::StrCat("the line has ", characters, " characters; with task = ", "\"lines\" at most ",
                     kLongestLine, " are allowed; for running text use task = \"text\""));
  }
}

// Adds the lines that stand in both files to the mistakes.
void find_lines_of_both(const std::vector<LineOfFile>& training,
                        const std::vector<LineOfFile>& validation, FileMistakes& mistakes) {
  std::map<std::string_view, const LineOfFile*> trained;
  for (const LineOfFile& line : training) trained.emplace(line.text, &line);
  for (const LineOfFile& line : validation) {
    const auto found = trained.find(line.text);
    if (found == trained.end()) continue;
    mistakes.add(
        line.path, line.number,
        absl::StrCat("this line stands in ", std::string(found->second->path), ":",
                     found->second->number, ", too; leave it out of one of the two files"));
  }
}

// Takes the lines that are not for training.
std::vector<LineOfFile> take_held(std::vector<LineOfFile>& lines, double train_fraction) {
  std::vector<std::string_view> texts;
  for (const LineOfFile& line : lines) texts.push_back(line.text);
  const std::vector<int64_t> classes(texts.size());
  const std::vector<Split> sides = sides_of(texts, classes, train_fraction);
  std::vector<LineOfFile> kept, held;
  for (size_t i = 0; i < lines.size(); ++i) {
    (sides[i] == Split::kTraining ? kept : held).push_back(lines[i]);
  }
  lines = std::move(kept);
  return held;
}

// Of all `texts` the characters are known.
absl::StatusOr<Vocabulary> learn_vocabulary(const DataOptions& options,
                                            const std::vector<LineOfFile>& training,
                                            std::initializer_list<std::string_view> texts) {
  VocabularyBuilder builder(options.tokens, options.vocabulary_size, options.tokenizer,
                            least_count(options, /*are_questions=*/false));
  builder.add_token(kLineEnd);
  for (const LineOfFile& line : training) {
    builder.add(line.text);
    builder.end_text();
  }
  for (const std::string_view text : texts) builder.add_validation(text);
  return builder.build();
}

// No token is a line end and more.
absl::StatusOr<Tokens> encode_line(const Vocabulary& vocabulary, std::string_view line) {
  return vocabulary.encode_apart(absl::StrCat(kLineEnd, std::string(line), kLineEnd), kLineEnd);
}

std::vector<std::string> notes_of(std::initializer_list<const TextOfLines*> texts) {
  std::vector<std::string> notes;
  for (const TextOfLines* text : texts) {
    if (!text->files.left_out.empty()) notes.push_back(text->files.note());
  }
  return notes;
}

absl::StatusOr<std::unique_ptr<Dataset>> make_lines(const DataOptions& options, uint64_t seed,
                                                    DataForm /*form*/, const Wait& wait) {
  const absl::StatusOr<TextOfLines> read = read_text_of_lines(options.path, wait);
  if (!read.ok()) return read.status();
  const bool has_file = !options.validation_path.empty();
  const absl::StatusOr<TextOfLines> read_too =
      has_file ? read_text_of_lines(options.validation_path, wait) : TextOfLines();
  if (!read_too.ok()) return read_too.status();
  const std::string &text = read->text, &other = read_too->text;
  FileMistakes mistakes;
  std::vector<LineOfFile> trained = lines_of(*read), judged = lines_of(*read_too);
  find_long_lines(trained, mistakes);
  find_long_lines(judged, mistakes);
  const size_t examples = trained.size();
  if (has_file) find_lines_of_both(trained, judged, mistakes);
  std::vector<LineOfFile> held = take_held(trained, options.train_fraction);
  if (!has_file) judged = std::move(held);
  if (!mistakes.empty()) return mistakes.status();
  for (const auto& [side, empty] :
       {std::pair("training", trained.empty()), std::pair("validation", judged.empty())}) {
    if (empty) {
      return absl::InvalidArgumentError(absl::StrCat(paths_to_show(options.path),
                                                     ": has too few lines: none of its ", examples,
                                                     " lines is for ", side, "; use more lines"));
    }
  }

  const auto vocabulary = learn_vocabulary(options, trained, {text, other, kLineEnd});
  if (!vocabulary.ok()) return vocabulary.status();
  const absl::StatusOr<Tokens> line_end = vocabulary->encode(kLineEnd);
  if (!line_end.ok() || line_end->size() != 1 || line_end->front() == vocabulary->unknown()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.tokenizer,
                     ": has no token for the end of a line, which the task \"lines\" writes; "
                     "use another data.tokenizer, or data.tokens = \"bpe\""));
  }
  const auto tokens_of = [&](const LineOfFile& line) {
    absl::StatusOr<Tokens> tokens = encode_line(*vocabulary, line.text);
    if (tokens.ok()) return *std::move(tokens);
    mistakes.add(line.path, line.number, std::string(tokens.status().message()));
    return Tokens();
  };
  std::vector<Tokens> training, validation;
  std::ranges::transform(trained, std::back_inserter(training), tokens_of);
  std::map<uint64_t, Tokens> by_hash;  // each line once, in an order that means nothing
  for (const LineOfFile& line : judged) by_hash.emplace(stable_hash(line.text), tokens_of(line));
  if (!mistakes.empty()) return mistakes.status();
  for (auto& [hash, line] : by_hash) {
    if (std::ssize(validation) == options.validation_examples) break;
    validation.push_back(std::move(line));
  }
  const std::string fingerprint =
      has_file ? fingerprint_of(absl::StrCat(fingerprint_of(text), fingerprint_of(other)))
               : fingerprint_of(text);
  return std::make_unique<LinesDataset>(*vocabulary, fingerprint, std::move(training),
                                        std::move(validation), seed,
                                        notes_of({&*read, &*read_too}));
}

// Every line that is not blank, in its order.
absl::StatusOr<std::unique_ptr<Dataset>> judge_lines(const DataOptions& options,
                                                     const KnownData& known, const Wait& wait) {
  const absl::StatusOr<TextOfLines> read = read_text_of_lines(options.path, wait);
  if (!read.ok()) return read.status();
  FileMistakes mistakes;
  std::vector<Tokens> lines;
  for (const LineOfFile& line : lines_of(*read)) {
    auto tokens = encode_line(known.vocabulary, line.text);
    if (!tokens.ok()) {
      mistakes.add(line.path, line.number, std::string(tokens.status().message()));
    } else if (std::ssize(*tokens) - 1 > known.most.max_length) {
      mistakes.add(line.path, line.number,
                   absl::StrCat("has ", std::ssize(*tokens) - 1,
                                " tokens; the model reads at most ", known.most.max_length));
    } else {
      lines.push_back(*std::move(tokens));
    }
  }
  if (!mistakes.empty()) return mistakes.status();
  if (lines.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(paths_to_show(options.path), ": is blank"));
  }
  return std::make_unique<LinesDataset>(known.vocabulary, fingerprint_of(read->text),
                                        std::vector<Tokens>(), std::move(lines), 1,
                                        notes_of({&*read}));
}

void check_lines(const DataOptions& options, OptionChecker& check) {
  check_path("lines", options, check);
  check_tokens(options, check);
  check_shares(options, check);
}

}  // namespace

// Each line of the files data.path is an example: it begins after a "\n" and has to end with one.
// Lines of nothing but white space are left out. Validation asks each held-out line once, however
// often the files have it, or those of data.validation_path. An error when a file cannot
// be read, a line is longer than a model could want, or a side has no line.
TaskKind lines_task() {
  return {.name = "lines",
          .keys = {"path", "validation_path", "tokens", "train_fraction", "validation_examples"},
          .check = check_lines,
          .make = make_lines,
          .answer_length = [](const DataOptions&, int64_t) { return kTextLength; },
          .first_token = kLineEnd,
          .last_token = kLineEnd,
          .judge = judge_lines,
          .reads_many_files = true};
}

}  // namespace qkv
