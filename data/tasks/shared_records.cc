#include "data/tasks/shared_records.h"

#include <map>
#include <set>
#include <utility>

#include "data/images/image_dataset.h"
#include "data/tasks/task_kit.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

constexpr const char* kContext = "data.context";

// No two records have the same.
std::string text_of(const Record& record) {
  return absl::StrCat(record.question, std::string(1, '\0'), record.answer.value_or(""),
                      std::string(1, '\0'));
}

std::string fingerprint_of_records(const std::vector<Record>& training,
                                   const std::vector<Record>& validation) {
  std::string text;
  for (const auto* records : {&training, &validation}) {
    for (const Record& record : *records) text += text_of(record);
    text += '\0';
  }
  return fingerprint_of(text);
}

// Each of them once.
std::vector<Record> in_order_of_hashes(std::vector<Record> records, int64_t most) {
  std::map<uint64_t, Record> by_hash;
  for (Record& record : records) {
    const uint64_t hash = stable_hash(text_of(record));
    by_hash.emplace(hash, std::move(record));
  }
  std::vector<Record> ordered;
  for (auto& [hash, record] : by_hash) {
    if (std::ssize(ordered) == most) break;
    ordered.push_back(std::move(record));
  }
  return ordered;
}

void find_records_of_both(const SharedRecords& records, const RecordLayout& layout,
                          FileMistakes& mistakes) {
  std::map<std::string_view, int64_t> trained;  // the line of each
  for (const Record& record : records.training) trained.emplace(record.question, record.line);
  for (const Record& record : records.validation) {
    const auto found = trained.find(record.question);
    if (found == trained.end()) continue;
    mistakes.add(records.validation_path, record.line, "this ", layout.question, " stands in ",
                 records.training_path, ":", found->second,
                 ", too; leave it out of one of the two files");
  }
}

// The part of an example that is too long; "": none.
std::string length_mistake(const Example& example, const QuestionLengths& limits) {
  const int64_t prompt = std::ssize(example.prompt), answer = std::ssize(example.answer);
  const auto too_long = [](const char* what, int64_t length, int64_t most) {
    return absl::StrCat("the ", what, " has ", length, " tokens; the model reads at most ", most,
                        " (", kContext, ")");
  };
  if (prompt > limits.prompt) return too_long("question", prompt, limits.prompt);
  if (answer > limits.answer) return too_long("answer", answer, limits.answer);
  if (prompt + answer <= limits.both) return "";
  return too_long("pair", prompt + answer - 1, limits.both - 1);
}

// An error where there are `mistakes`, or an example is longer than `limits`.
absl::StatusOr<ExampleLists> encode_records(const SharedRecords& records,
                                            const EncodeRecord& encode,
                                            const QuestionLengths& limits, FileMistakes& mistakes) {
  const auto encode_side = [&](const std::string& path, const std::vector<Record>& side) {
    std::vector<Example> examples;
    for (const Record& record : side) {
      absl::StatusOr<Example> example = encode(record);
      if (!example.ok()) {
        mistakes.add(path, record.line, example.status().message());
      } else if (const std::string mistake = length_mistake(*example, limits); !mistake.empty()) {
        mistakes.add(path, record.line, mistake);
      } else {
        examples.push_back(*std::move(example));
      }
    }
    return examples;
  };
  ExampleLists lists = {.training = encode_side(records.training_path, records.training),
                        .validation = encode_side(records.validation_path, records.validation)};
  if (!mistakes.empty()) return mistakes.status();
  return lists;
}

// Names of classes that look alike are one.
void take_as_nfc(std::vector<Record>& records, const RecordLayout& layout,
                 std::vector<std::string>& notes) {
  if (!layout.answer_is_class) return;
  std::set<std::string> others;
  for (Record& record : records) {
    std::string name = nfc(*record.answer);
    if (name != *record.answer) others.insert(name);
    record.answer = std::move(name);
  }
  note_other_forms({others.begin(), others.end()}, notes);
}

std::vector<Split> sides_of_records(const std::vector<Record>& records, const RecordLayout& layout,
                                    double train_fraction) {
  std::vector<std::string_view> questions;
  std::vector<int64_t> classes;
  std::map<std::string_view, int64_t> numbers;
  for (const Record& record : records) {
    questions.push_back(record.question);
    const int64_t next = std::ssize(numbers);
    classes.push_back(layout.answer_is_class ? numbers.emplace(*record.answer, next).first->second
                                             : 0);
  }
  return sides_of(questions, classes, train_fraction);
}

// An error where a side has no example.
absl::Status check_both_sides(const SharedRecords& records, const DataOptions& options) {
  std::set<std::string_view> questions;  // which the sides are chosen by
  for (const auto* side : {&records.training, &records.validation}) {
    for (const Record& record : *side) questions.insert(record.question);
  }
  for (const auto& [side, empty] : {std::pair("training", records.training.empty()),
                                    std::pair("validation", records.validation.empty())}) {
    if (!empty) continue;
    return invalid_argument(
        options.path, ": has too few examples: of its ", questions.size(),
        " different ones none is for ", side,
        "; use more examples, data.validation_path, or a train_fraction other than ",
        options.train_fraction);
  }
  return absl::OkStatus();
}

// Whether different questions have the same tokens.
bool are_alike(const std::vector<Record>& records, const Vocabulary& vocabulary) {
  std::map<std::vector<int64_t>, std::string_view> questions;
  return std::ranges::any_of(records, [&](const Record& record) {
    const auto tokens = vocabulary.encode(record.question);
    const std::string_view question = record.question;
    return tokens.ok() && questions.emplace(*tokens, question).first->second != question;
  });
}

QuestionLengths limits_of_context(const DataOptions& options, DataForm form) {
  const int64_t context = options.context > 0 ? options.context : kMaxLength;
  return limits_of({.max_length = context, .source_length = context}, form);
}

}  // namespace

absl::StatusOr<SharedRecords> share_records(const DataOptions& options, const RecordLayout& layout,
                                            FileMistakes& mistakes) {
  const bool has_file = !options.validation_path.empty();
  SharedRecords shared{.training_path = options.path,
                       .validation_path = has_file ? options.validation_path : options.path};
  ASSIGN_OR_RETURN(std::vector<Record> records, read_records(options.path, layout, mistakes));
  take_as_nfc(records, layout, shared.notes);
  if (has_file) {
    ASSIGN_OR_RETURN(std::vector<Record> others,
                     read_records(options.validation_path, layout, mistakes));
    take_as_nfc(others, layout, shared.notes);
    shared.sides = sides_of_records(records, layout, options.train_fraction);
    shared.training = std::move(records);
    shared.validation = std::move(others);
    find_records_of_both(shared, layout, mistakes);
  } else {
    const std::vector<Split> sides = sides_of_records(records, layout, options.train_fraction);
    for (size_t i = 0; i < sides.size(); ++i) {
      const bool trains = sides[i] == Split::kTraining;
      (trains ? shared.training : shared.validation).push_back(std::move(records[i]));
    }
  }
  shared.fingerprint = fingerprint_of_records(shared.training, shared.validation);
  shared.validation = in_order_of_hashes(std::move(shared.validation), options.validation_examples);
  return shared;
}

absl::StatusOr<Vocabulary> vocabulary_of_records(const SharedRecords& records,
                                                 const DataOptions& options, bool writes_answers,
                                                 const std::vector<std::string>& marks) {
  const auto learn = [&](int64_t least_count) {
    VocabularyBuilder builder(options.tokens, options.vocabulary_size, options.tokenizer,
                              least_count);
    for (const Record& record : records.training) {
      builder.add(record.question);
      builder.end_text();
      if (writes_answers) builder.add_answer(*record.answer);
    }
    for (const Record& record : records.validation) {
      const bool is_known = writes_answers && options.tokens == TokenKind::kCharacters;
      if (is_known) builder.add_answer(*record.answer);
    }
    for (const std::string& mark : marks) builder.add_token(mark);
    return builder.build();
  };
  ASSIGN_OR_RETURN(Vocabulary vocabulary, learn(least_count(options, /*are_questions=*/true)));
  if (options.min_count == 0 && are_alike(records.training, vocabulary)) {
    ASSIGN_OR_RETURN(vocabulary, learn(1));
  }
  for (const std::string& mark : marks) {
    const auto tokens = vocabulary.encode(mark);
    if (tokens.ok() && tokens->size() == 1 && tokens->front() != vocabulary.unknown()) continue;
    return invalid_argument(options.tokenizer, ": has no token for the ",
                            mark == "\t" ? "tab after a question" : "line end after an answer",
                            "; use another data.tokenizer, or data.tokens = \"bpe\"");
  }
  return vocabulary;
}

absl::StatusOr<SharedRecords> records_to_judge(const DataOptions& options,
                                               const RecordLayout& layout, FileMistakes& mistakes) {
  ASSIGN_OR_RETURN(std::vector<Record> records, read_records(options.path, layout, mistakes));
  SharedRecords shared{.training_path = options.path, .validation_path = options.path};
  take_as_nfc(records, layout, shared.notes);
  shared.validation = std::move(records);
  return shared;
}

absl::StatusOr<std::unique_ptr<Dataset>> dataset_of_records(
    const SharedRecords& records, const DataOptions& options, const Vocabulary& vocabulary,
    const EncodeRecord& encode, ListedDataset::Options listed, FileMistakes& mistakes) {
  ASSIGN_OR_RETURN(
      ExampleLists examples,
      encode_records(records, encode, limits_of_context(options, listed.form), mistakes));
  RETURN_IF_ERROR(check_both_sides(records, options));
  const auto is_left_out = [&, place = size_t{0}](const Example&) mutable {
    return records.sides[place++] == Split::kValidation;
  };
  if (!records.sides.empty()) std::erase_if(examples.training, is_left_out);
  listed.notes = records.notes;
  if (listed.form == DataForm::kClass) {
    std::vector<int64_t> judged;
    for (const Example& example : examples.validation) judged.push_back(example.answer.front());
    note_unjudged_classes(listed.class_names, judged, listed.notes);
  }
  listed.context = options.context;
  listed.fingerprint = records.fingerprint;
  return std::make_unique<ListedDataset>(vocabulary, std::move(examples), std::move(listed));
}

absl::StatusOr<std::unique_ptr<Dataset>> dataset_to_judge(const SharedRecords& records,
                                                          const KnownData& known,
                                                          const EncodeRecord& encode,
                                                          bool has_endings,
                                                          FileMistakes& mistakes) {
  ASSIGN_OR_RETURN(ExampleLists examples,
                   encode_records(records, encode, limits_of(known.most, known.form), mistakes));
  return std::make_unique<ListedDataset>(known.vocabulary, std::move(examples),
                                         ListedDataset::Options{.form = known.form,
                                                                .class_names = known.class_names,
                                                                .has_endings = has_endings,
                                                                .notes = records.notes});
}

void check_records(const char* task, const DataOptions& options, OptionChecker& check) {
  check_path(task, options, check);
  check_tokens(options, check);
  check_shares(options, check);
  check.range("context", options.context, 0, kMaxLength);
  if (!options.question_key.empty() && options.question_key == options.answer_key) {
    check.add("answer_key", "is the same as data.question_key");
  }
}

std::vector<std::string> keys_of_records() {
  return {"path",       "validation_path", "tokens",         "question_key",
          "answer_key", "context",         "train_fraction", "validation_examples"};
}

}  // namespace qkv
