#include <utility>

#include "data/tasks/shared_records.h"
#include "data/tasks/task_kit.h"
#include "framework/core/status.h"

namespace qkv {
namespace {

constexpr char kAfterQuestion[] = "\t";
constexpr char kAfterAnswer[] = "\n";

RecordLayout pairs_layout(const DataOptions& options) {
  return {.question = options.question_key.empty() ? "question" : options.question_key,
          .answer = options.answer_key.empty() ? "answer" : options.answer_key};
}

// The tokens after a question and an answer stand nowhere else.
void check_pairs_text(const std::string& path, const std::vector<Record>& records,
                      FileMistakes& mistakes) {
  for (const Record& record : records) {
    for (const std::string& text : {record.question, record.answer.value_or("")}) {
      if (text.find_first_of("\t\n") == std::string::npos) continue;
      mistakes.add(path, record.line, "a question or an answer holds a tab or a line end");
      break;
    }
  }
}

EncodeRecord encode_pairs(const Vocabulary& vocabulary) {
  return [&vocabulary](const Record& record) -> absl::StatusOr<Example> {
    const std::string question = record.question + kAfterQuestion;
    ASSIGN_OR_RETURN(auto prompt, vocabulary.encode_apart(question, kAfterQuestion));
    ASSIGN_OR_RETURN(auto answer,
                     vocabulary.encode_apart(*record.answer + kAfterAnswer, kAfterAnswer));
    return Example{std::move(prompt), std::move(answer)};
  };
}

absl::StatusOr<std::unique_ptr<Dataset>> make_pairs(const DataOptions& options, uint64_t seed,
                                                    DataForm form, const Wait& /*wait*/) {
  FileMistakes mistakes;
  ASSIGN_OR_RETURN(const SharedRecords records,
                   share_records(options, pairs_layout(options), mistakes));
  check_pairs_text(records.training_path, records.training, mistakes);
  check_pairs_text(records.validation_path, records.validation, mistakes);
  if (!mistakes.empty()) return mistakes.status();

  ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                   vocabulary_of_records(records, options, /*writes_answers=*/true,
                                         {kAfterQuestion, kAfterAnswer}));
  return dataset_of_records(records, options, vocabulary, encode_pairs(vocabulary),
                            {.form = form, .has_endings = true, .seed = seed}, mistakes);
}

absl::StatusOr<std::unique_ptr<Dataset>> judge_pairs(const DataOptions& options,
                                                     const KnownData& known, const Wait& /*wait*/) {
  FileMistakes mistakes;
  ASSIGN_OR_RETURN(const SharedRecords records,
                   records_to_judge(options, pairs_layout(options), mistakes));
  check_pairs_text(records.validation_path, records.validation, mistakes);
  return dataset_to_judge(records, known, encode_pairs(known.vocabulary), true, mistakes);
}

}  // namespace

// A file of questions and answers: the prompt is the question and a tab, the answer ends with a
// line end. Characters or words of questions that training has once are unknown.
TaskKind pairs_task() {
  return {.name = "pairs",
          .keys = keys_of_records(),
          .check = [](const DataOptions& options,
                      OptionChecker& check) { check_records("pairs", options, check); },
          .make = make_pairs,
          .answer_length = [](const DataOptions&, int64_t) { return kTextLength; },
          .last_token = kAfterAnswer,
          .judge = judge_pairs,
          .records = TaskKind::Records{.layout = pairs_layout, .after_question = kAfterQuestion},
          .forms = {DataForm::kSequence, DataForm::kSourceTarget}};
}

}  // namespace qkv
