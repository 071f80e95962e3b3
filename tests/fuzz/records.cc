#include "data/records/records.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

// Lines one after the other.
NextLine lines_in(std::string_view text, int64_t& read) {
  return [text, &read]() mutable -> std::optional<std::string> {
    if (text.empty()) return std::nullopt;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++read;
    return line;
  };
}

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

// What is read from CSV is read again from the same fields in quotes.
void require_same_in_quotes(const std::vector<std::string>& fields) {
  std::string record;
  for (const std::string& field : fields) {
    absl::StrAppend(&record, record.empty() ? "" : ",", quoted(field));
  }
  record += '\n';
  int64_t read = 0;
  const NextLine next = lines_in(record, read);
  std::optional<std::string> first = next();
  const auto again = parse_csv_record(*std::move(first), next);
  require(again.ok() && *again == fields && !next(), "fields are those of the record", record);
}

void require_good_records(std::string_view name, const RecordLayout& layout,
                          std::string_view input) {
  int64_t read = 0, before = 0;
  const int64_t returns = std::ranges::count(input, '\r');  // which end lines, too
  RecordReader reader(name, layout, lines_in(input, read));
  while (const auto record = reader.next()) {
    require(reader.line() >= before && reader.line() <= std::max<int64_t>(read, 1) + returns,
            "a record has a line of the file", absl::StrCat(reader.line()));
    before = reader.line();
    if (!record->ok()) {
      require_good_message(record->status());
      continue;
    }
    const Record& r = **record;
    require(is_utf8(r.question) && is_utf8(r.answer.value_or("")) && !r.question.empty() &&
                r.answer != "" && (r.answer || !layout.answer_needed) && r.line == before,
            "a record is a question and an answer", r.question);
  }
  require(read == 0 || !reader.next(), "after the last record there is none");
}

// Both parts of a data set from a file with that name.
void require_good_dataset(const std::string& task, DataForm form, const ScratchFile& file,
                          std::string_view input) {
  file.write(input);
  DataOptions options;
  options.task = task;
  options.path = file.path();
  options.train_fraction = 0.5;
  options.context = input.size() % 2 == 0 ? 0 : 12;
  const auto dataset = make_dataset(options, 1, form);
  if (!dataset.ok()) {
    require_good_message(dataset.status(), {file.path() + ":", "…"});
    return;
  }
  const Dataset& d = **dataset;
  std::set<std::vector<int64_t>> held_out;
  for (int64_t i = 0; i < d.validation_size(); ++i) {
    const Example example = d.validation_example(i);
    require(!example.answer.empty() && !d.answer_text(example.answer).empty(),
            "an example has an answer");
    held_out.insert(example.prompt);
  }
  const Batch batch = d.training_batch(0, d.training_size());
  require(batch.rows() == d.training_size(), "training has each of its examples once");
  const Array& tokens = batch.inputs[0];
  const int64_t length = tokens.size() / batch.rows();
  for (int64_t row = 0; form == DataForm::kSequence && row < batch.rows(); ++row) {
    const int64_t* begin = tokens.data<int64_t>() + row * length;
    for (const std::vector<int64_t>& prompt : held_out) {
      require(std::ssize(prompt) > length || !std::equal(prompt.begin(), prompt.end(), begin),
              "a question is on one side of the two");
    }
  }
  require_can_be_shown(d);
}

// A CSV file: what is read reads back from the same fields in quotes. Records of the other formats.
void fuzz_csv(std::string_view input) {
  int64_t read = 0;
  const NextLine next = lines_in(input, read);
  while (std::optional<std::string> line = next()) {
    const auto fields = parse_csv_record(*std::move(line), next);
    if (fields.ok()) {
      require(!fields->empty(), "a record has a field");
      require_same_in_quotes(*fields);
    } else {
      require_good_message(fields.status());
    }
  }
  require_good_records("a.csv", {.question = "a", .answer = "b"},
                       absl::StrCat("b,c,a\n", std::string(input)));
  require_good_records("a.csv", {.question = "a", .answer = "b"}, input);
}
const bool kCsvIsAdded = add_fuzz_target({"csv", fuzz_csv});

void fuzz_records(std::string_view input) {
  for (const bool needed : {true, false}) {
    for (const char* name : {"a.tsv", "a.jsonl"}) {
      require_good_records(name, {.question = "a", .answer = "b", .answer_needed = needed}, input);
    }
  }
}
const bool kRecordsIsAdded = add_fuzz_target({"records", fuzz_records});

// Files of the tasks "pairs" and "classes": a question is on one side of the two.
void fuzz_pairs(std::string_view input) {
  static const ScratchFile file("pairs.tsv");
  require_good_dataset(
      "pairs", input.size() % 3 == 0 ? DataForm::kSourceTarget : DataForm::kSequence, file, input);
}
const bool kPairsIsAdded = add_fuzz_target({"pairs", fuzz_pairs});

void fuzz_classes(std::string_view input) {
  static const ScratchFile file("classes.tsv");
  require_good_dataset("classes", DataForm::kClass, file, input);
}
const bool kClassesIsAdded = add_fuzz_target({"classes", fuzz_classes});

}  // namespace
}  // namespace qkv
