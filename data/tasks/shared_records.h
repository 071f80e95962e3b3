#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/file.h"
#include "data/listed_dataset.h"
#include "data/records/records.h"
#include "data/split.h"
#include "data/task.h"
#include "framework/core/status.h"

// The common part of the tasks over files of questions and answers.
namespace qkv {

// The records of a run's files.
struct SharedRecords {
  std::vector<Record> training = {}, validation = {};
  std::string training_path, validation_path;  // the same, where one file is shared out
  // Where it is not: which records of training a run takes. All: those known.
  std::vector<Split> sides = {};
  std::string fingerprint = {};
  std::vector<std::string> notes = {};
};

// Reads data.path and, where it is given, data.validation_path; adds errors to `mistakes`. Without
// a file for validation data.path is shared out by its questions (data/split.h). A question that
// stands in both files is a mistake. Validation has each record once, at most
// data.validation_examples of them, in an order that means nothing.
absl::StatusOr<SharedRecords> share_records(const DataOptions& options, const RecordLayout& layout,
                                            FileMistakes& mistakes);

// All records of data.path, for validation.
absl::StatusOr<SharedRecords> records_to_judge(const DataOptions& options,
                                               const RecordLayout& layout, FileMistakes& mistakes);

// The vocabulary of data.tokens, in which `marks` are tokens, too. It has every token of the
// answers, however rare, where a model `writes_answers`.
absl::StatusOr<Vocabulary> vocabulary_of_records(const SharedRecords& records,
                                                 const DataOptions& options, bool writes_answers,
                                                 const std::vector<std::string>& marks);

// An example of a record, or what is wrong with it.
using EncodeRecord = std::function<absl::StatusOr<Example>(const Record&)>;

// The data set of a run: `listed` has the form, the seed and the names of classes. An error
// where there are `mistakes`, an example is longer than data.context, or a side has none.
absl::StatusOr<std::unique_ptr<Dataset>> dataset_of_records(
    const SharedRecords& records, const DataOptions& options, const Vocabulary& vocabulary,
    const EncodeRecord& encode, ListedDataset::Options listed, FileMistakes& mistakes);

// The data set of records_to_judge(), with the vocabulary and the classes of a run. An error where
// there are `mistakes`, or an example is longer than the run has learned.
absl::StatusOr<std::unique_ptr<Dataset>> dataset_to_judge(const SharedRecords& records,
                                                          const KnownData& known,
                                                          const EncodeRecord& encode,
                                                          bool has_endings, FileMistakes& mistakes);

// Checks the options that all such tasks read, and lists them.
void check_records(const char* task, const DataOptions& options, OptionChecker& check);
std::vector<std::string> keys_of_records();

}  // namespace qkv
