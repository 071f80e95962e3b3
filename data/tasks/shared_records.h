#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/file_mistakes.h"
#include "data/listed_dataset.h"
#include "data/option_checker.h"
#include "data/options.h"
#include "data/records.h"
#include "data/task.h"

// What the tasks over files of questions and answers have in common.
namespace qkv {

// The records of a run's files.
struct SharedRecords {
  std::vector<Record> training = {}, validation = {};
  std::string training_path, validation_path;  // the same, where a hash shares out one file
  std::string fingerprint = {};
};

// Reads data.path and, where it is given, data.validation_path; adds what is wrong to `mistakes`.
// Without a file for validation a hash of the question decides. A question that stands in both
// files is a mistake. Validation has each record once, at most data.validation_examples of them, in
// an order that means nothing.
absl::StatusOr<SharedRecords> share_records(const DataOptions& options, const RecordLayout& layout,
                                            FileMistakes& mistakes);

// All records of data.path, for validation.
absl::StatusOr<SharedRecords> records_to_judge(const DataOptions& options,
                                               const RecordLayout& layout, FileMistakes& mistakes);

// An example of a record, or what is wrong with it.
using EncodeRecord = std::function<absl::StatusOr<Example>(const Record&)>;

// The examples of the records. An error where there are `mistakes`, one is longer than `limits`, or
// a side that is needed has none.
absl::StatusOr<ExampleLists> encode_records(const SharedRecords& records,
                                            const EncodeRecord& encode,
                                            const QuestionLengths& limits, FileMistakes& mistakes);

// An error where a side has no example.
absl::Status check_both_sides(const SharedRecords& records, const DataOptions& options);

// Checks what all such tasks read, and lists it.
void check_records(const char* task, const DataOptions& options, OptionChecker& check);
std::vector<std::string> keys_of_records();

// The limits of data.context.
QuestionLengths limits_of_context(const DataOptions& options, DataForm form);

}  // namespace qkv
