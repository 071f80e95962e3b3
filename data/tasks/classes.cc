#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "data/file.h"
#include "data/tasks/shared_records.h"
#include "data/tasks/task_kit.h"
#include "framework/core/status.h"
#include "framework/core/text/mistakes.h"

namespace qkv {
namespace {

constexpr int64_t kMaxTextClasses = 1000;

RecordLayout classes_layout(const DataOptions& options) {
  return {.question = options.question_key.empty() ? "text" : options.question_key,
          .answer = options.answer_key.empty() ? "class" : options.answer_key,
          .answer_first = true,
          .answer_is_class = true};
}

struct ClassPlaces {
  int64_t examples = 0;
  int64_t first_line = 0;
};
using PlacesOfClasses = std::map<std::string, ClassPlaces>;

void add_classes(const std::vector<Record>& records, PlacesOfClasses& places) {
  for (const Record& record : records) {
    ClassPlaces& place = places[*record.answer];
    if (place.examples++ == 0) place.first_line = record.line;
  }
}

// A class is learned from some examples, and judged by others.
void check_classes(const SharedRecords& records, FileMistakes& mistakes) {
  PlacesOfClasses trained, judged;
  add_classes(records.training, trained);
  add_classes(records.validation, judged);
  const bool one_file = records.training_path == records.validation_path;
  for (const auto& [name, place] : trained) {
    const int64_t judging = one_file && judged.contains(name) ? judged[name].examples : 0;
    if (place.examples + judging > 1) continue;
    mistakes.add(records.training_path, place.first_line, "the class \"", name,
                 "\" is seen once, here: it needs more examples");
  }
  for (const auto& [name, place] : judged) {
    if (trained.contains(name)) continue;
    mistakes.add(records.validation_path, place.first_line, "the class \"", name, "\" has ",
                 place.examples, place.examples == 1 ? " example" : " examples",
                 " for validation, first here, but none for training");
  }
}

void check_class_texts(const std::string& path, const std::vector<Record>& records,
                       FileMistakes& mistakes) {
  for (const Record& record : records) {
    if (record.answer->find_first_of("\t\n") == std::string::npos) continue;
    mistakes.add(path, record.line, "the class holds a tab or a line end");
  }
}

// Two classes that a reader takes for one.
void find_alike(const std::string& path, const PlacesOfClasses& classes, FileMistakes& mistakes) {
  for (const auto& [name, place] : classes) {
    const std::string plain(absl::StripAsciiWhitespace(name));
    if (plain == name || !classes.contains(plain)) continue;
    mistakes.add(path, place.first_line, "the class \"", name, "\" differs from \"", plain,
                 "\" by white space alone");
  }
}

EncodeRecord encode_classes(const Vocabulary& vocabulary, const std::vector<std::string>& names) {
  return [&vocabulary, &names](const Record& record) -> absl::StatusOr<Example> {
    ASSIGN_OR_RETURN(auto prompt, vocabulary.encode(record.question));
    const auto name = std::ranges::find(names, *record.answer, nfc);  // an older run has others
    if (name == names.end()) {
      return invalid_argument("unknown class \"", *record.answer, "\"; the classes are ",
                              listed(names));
    }
    return Example{std::move(prompt), {name - names.begin()}};
  };
}

absl::StatusOr<std::unique_ptr<Dataset>> make_classes(const DataOptions& options, uint64_t seed,
                                                      DataForm form, const Wait& /*wait*/) {
  FileMistakes mistakes;
  ASSIGN_OR_RETURN(const SharedRecords records,
                   share_records(options, classes_layout(options), mistakes));
  check_class_texts(records.training_path, records.training, mistakes);
  check_class_texts(records.validation_path, records.validation, mistakes);
  check_classes(records, mistakes);
  if (!mistakes.empty()) return mistakes.status();

  PlacesOfClasses classes;
  add_classes(records.training, classes);
  find_alike(options.path, classes, mistakes);
  if (!mistakes.empty()) return mistakes.status();
  const auto many = std::ssize(classes);
  if (many < 2 || many > kMaxTextClasses) {
    return invalid_argument(options.path, ": has ", many, many == 1 ? " class" : " classes",
                            "; it needs 2 … ", kMaxTextClasses);
  }
  std::vector<std::string> names;
  for (const auto& [name, place] : classes) names.push_back(name);
  ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                   vocabulary_of_records(records, options, /*writes_answers=*/false, {}));
  return dataset_of_records(records, options, vocabulary, encode_classes(vocabulary, names),
                            {.form = form, .class_names = names, .seed = seed}, mistakes);
}

absl::StatusOr<std::unique_ptr<Dataset>> judge_classes(const DataOptions& options,
                                                       const KnownData& known,
                                                       const Wait& /*wait*/) {
  FileMistakes mistakes;
  ASSIGN_OR_RETURN(const SharedRecords records,
                   records_to_judge(options, classes_layout(options), mistakes));
  return dataset_to_judge(records, known, encode_classes(known.vocabulary, known.class_names),
                          false, mistakes);
}

}  // namespace

// A file of texts and their classes. Characters or words of the texts that training has once are
// unknown; the classes are those of the training examples, in the order of their bytes.
TaskKind classes_task() {
  return {.name = "classes",
          .keys = keys_of_records(),
          .check = [](const DataOptions& options,
                      OptionChecker& check) { check_records("classes", options, check); },
          .make = make_classes,
          .answer_length = [](const DataOptions&, int64_t) { return int64_t{1}; },
          .judge = judge_classes,
          .records = TaskKind::Records{.layout = classes_layout},
          .forms = {DataForm::kClass}};
}

}  // namespace qkv
