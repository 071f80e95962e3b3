#include <iterator>
#include <map>

#include "data/file.h"
#include "data/listed_dataset.h"
#include "data/split.h"
#include "data/tasks/task_kit.h"
#include "data/text/text_pass.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/each_of.h"
#include "framework/core/random.h"
#include "framework/core/status.h"

namespace qkv {
namespace {

constexpr int64_t kLongestLine = 1024;  // characters

constexpr char kLineEnd[] = "\n";

// Every line begins and ends with the token of "\n".
std::unique_ptr<Dataset> dataset_of_lines(const Vocabulary& vocabulary, ExampleLists lines,
                                          std::string fingerprint, uint64_t seed,
                                          std::vector<std::string> notes) {
  const int64_t newline = lines.validation.front().prompt.front();
  return std::make_unique<ListedDataset>(
      vocabulary, std::move(lines),
      ListedDataset::Options{.padding = newline,
                             .has_answers = false,
                             .fingerprint = std::move(fingerprint),
                             .seed = seed,
                             .draws = "training lines",
                             .notes = std::move(notes)});
}

Example example_of(const Tokens& line) { return {{line.front()}, {line.begin() + 1, line.end()}}; }

struct TextOfLines {
  std::string text;            // of one after the other; a line ends with its file
  SourceFiles files;           // those, and the ones left out
  std::vector<size_t> begins;  // of each file, in the text
};

struct LineOfFile {
  std::string_view text;
  std::string_view path;
  int64_t number = 0;  // in the file
};

// All files that cannot be read, or are not UTF-8, are named; an error as well where all are empty.
absl::StatusOr<TextOfLines> read_text_of_lines(const std::string& paths, const Wait& wait) {
  ASSIGN_OR_RETURN(SourceFiles files, find_source_files(paths));
  TextOfLines read{.text = "", .files = std::move(files), .begins = {}};
  TextPasses passes(paths_to_show(paths), wait, TextPieces::kPieceBytes, read.files.bytes());
  const auto begin_file = [&] {
    if (!read.text.empty() && !read.text.ends_with('\n')) read.text += '\n';
    read.begins.push_back(read.text.size());
  };
  const auto take = [&](std::string_view piece) {
    read.text += piece;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(passes.read(read.files, take, begin_file));
  if (!read.text.empty()) return read;
  return invalid_argument(paths_to_show(paths), ": is empty");
}

// Those that are not blank, which live as long as the text.
std::vector<LineOfFile> lines_of(const TextOfLines& read) {
  std::vector<LineOfFile> lines;
  for (size_t file = 0; file < read.begins.size(); ++file) {
    const size_t begin = read.begins[file];
    const size_t end = file + 1 < read.begins.size() ? read.begins[file + 1] : read.text.size();
    std::string_view text = std::string_view(read.text).substr(begin, end - begin);
    for (int64_t number = 1; !text.empty(); ++number) {
      const size_t length = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, length);
      text.remove_prefix(std::min(length + 1, text.size()));
      if (is_blank(line)) continue;
      lines.push_back({line, read.files.files[file].path, number});
    }
  }
  return lines;
}

void find_long_lines(const std::vector<LineOfFile>& lines, FileMistakes& mistakes) {
  for (const LineOfFile& line : lines) {
    const int64_t characters = characters_in(line.text);
    if (characters <= kLongestLine) continue;
    mistakes.add(line.path, line.number, "the line has ", characters,
                 " characters; with task = ", "\"lines\" at most ", kLongestLine,
                 " are allowed; for running text use task = \"text\"");
  }
}

void find_lines_of_both(const std::vector<LineOfFile>& training,
                        const std::vector<LineOfFile>& validation, FileMistakes& mistakes) {
  std::map<std::string_view, const LineOfFile*> trained;
  for (const LineOfFile& line : training) trained.emplace(line.text, &line);
  for (const LineOfFile& line : validation) {
    const auto found = trained.find(line.text);
    if (found == trained.end()) continue;
    mistakes.add(line.path, line.number, "this line stands in ", std::string(found->second->path),
                 ":", found->second->number, ", too; leave it out of one of the two files");
  }
}

// Takes the lines that are not for training.
std::vector<LineOfFile> take_held(std::vector<LineOfFile>& lines, double train_fraction) {
  const std::vector<int64_t> classes(lines.size());
  const auto sides = sides_of(each_of(lines, &LineOfFile::text), classes, train_fraction);
  std::vector<LineOfFile> kept, held;
  for (size_t i = 0; i < lines.size(); ++i) {
    (sides[i] == Split::kTraining ? kept : held).push_back(lines[i]);
  }
  lines = std::move(kept);
  return held;
}

// The characters of all `texts` are known.
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

absl::StatusOr<std::unique_ptr<Dataset>> make_lines(const DataOptions& options, uint64_t seed,
                                                    DataForm /*form*/, const Wait& wait) {
  ASSIGN_OR_RETURN(const TextOfLines read, read_text_of_lines(options.path, wait));
  const bool has_file = !options.validation_path.empty();
  ASSIGN_OR_RETURN(const TextOfLines read_too,
                   has_file ? read_text_of_lines(options.validation_path, wait) : TextOfLines());
  const std::string &text = read.text, &other = read_too.text;
  FileMistakes mistakes;
  std::vector<LineOfFile> trained = lines_of(read), judged = lines_of(read_too);
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
      return invalid_argument(paths_to_show(options.path), ": has too few lines: none of its ",
                              examples, " lines is for ", side, "; use more lines");
    }
  }

  ASSIGN_OR_RETURN(const auto vocabulary,
                   learn_vocabulary(options, trained, {text, other, kLineEnd}));
  const absl::StatusOr<Tokens> line_end = vocabulary.encode(kLineEnd);
  if (!line_end.ok() || line_end->size() != 1 || line_end->front() == vocabulary.unknown()) {
    return invalid_argument(
        options.tokenizer,
        ": has no token for the end of a line, which the task \"lines\" writes; "
        "use another data.tokenizer, or data.tokens = \"bpe\"");
  }
  const auto encode = [&](const LineOfFile& line) {
    const absl::StatusOr<Tokens> tokens = encode_line(vocabulary, line.text);
    if (tokens.ok()) return example_of(*tokens);
    mistakes.add(line.path, line.number, tokens.status().message());
    return Example();
  };
  ExampleLists lines;
  std::ranges::transform(trained, std::back_inserter(lines.training), encode);
  std::map<uint64_t, Example> by_hash;  // each line once, in an order that means nothing
  for (const LineOfFile& line : judged) by_hash.emplace(stable_hash(line.text), encode(line));
  if (!mistakes.empty()) return mistakes.status();
  for (auto& [hash, line] : by_hash) {
    if (std::ssize(lines.validation) == options.validation_examples) break;
    lines.validation.push_back(std::move(line));
  }
  const std::string fingerprint =
      has_file ? fingerprint_of(absl::StrCat(fingerprint_of(text), fingerprint_of(other)))
               : fingerprint_of(text);
  return dataset_of_lines(vocabulary, std::move(lines), fingerprint, seed,
                          notes_on_left_out({&read.files, &read_too.files}));
}

// Every line that is not blank, in its order.
absl::StatusOr<std::unique_ptr<Dataset>> judge_lines(const DataOptions& options,
                                                     const KnownData& known, const Wait& wait) {
  ASSIGN_OR_RETURN(const TextOfLines read, read_text_of_lines(options.path, wait));
  FileMistakes mistakes;
  ExampleLists lines;
  for (const LineOfFile& line : lines_of(read)) {
    auto tokens = encode_line(known.vocabulary, line.text);
    if (!tokens.ok()) {
      mistakes.add(line.path, line.number, tokens.status().message());
    } else if (std::ssize(*tokens) - 1 > known.most.max_length) {
      mistakes.add(line.path, line.number, "has ", std::ssize(*tokens) - 1,
                   " tokens; the model reads at most ", known.most.max_length);
    } else {
      lines.validation.push_back(example_of(*tokens));
    }
  }
  if (!mistakes.empty()) return mistakes.status();
  if (lines.validation.empty()) {
    return invalid_argument(paths_to_show(options.path), ": is blank");
  }
  return dataset_of_lines(known.vocabulary, std::move(lines), fingerprint_of(read.text), 1,
                          notes_on_left_out({&read.files}));
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
