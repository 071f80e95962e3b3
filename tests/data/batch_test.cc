#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

Batch batch_of(const std::string& task, DataForm form, int64_t min_length = 2) {
  DataOptions options;
  options.task = task;
  options.length = 6;
  if (task == "parity") options.min_length = min_length;
  const std::unique_ptr<Dataset> dataset = *make_dataset(options, /*seed=*/1, form);
  return dataset->training_batch(0, 5);
}

// A question of 6 symbols and "=", and an answer of one.
TEST(BatchTest, AllTokensThatAreReadCountAndPaddingIsNoToken) {
  EXPECT_EQ(batch_of("parity", DataForm::kSequence).tokens(), 5 * 7);
  const Batch two = batch_of("parity", DataForm::kSourceTarget);
  EXPECT_EQ(two.inputs.size(), 3u);  // with what says where the padding is
  EXPECT_EQ(two.tokens(), 5 * (7 + 1));
  EXPECT_EQ(batch_of("parity", DataForm::kClass).tokens(), 5 * 7);
}

TEST(BatchTest, OneTokenOfPaddingIsSaid) {
  const Batch batch = batch_of("parity", DataForm::kClass, /*min_length=*/5);
  ASSERT_EQ(batch.inputs.size(), 2u);
  const Array& padding = batch.inputs[1];  // [5, 7]
  for (int64_t i = 0; i < padding.size(); ++i) {
    const bool is_last = i % 7 == 6;
    const bool is_separator = batch.inputs[0].data<int64_t>()[i] == 2;
    EXPECT_EQ(padding.data<bool>()[i], is_last && !is_separator);
  }
}

std::vector<double> row_of(const Array& array, int64_t row) {
  const std::vector<double> all = array.to_vector();
  const auto length = std::ssize(all) / array.shape()[0];
  return {all.begin() + row * length, all.begin() + (row + 1) * length};
}

// Of every task; files of images have tests of their own.
std::vector<DataOptions> every_task(const TemporaryFolder& folder) {
  std::string lines, records = "question,answer,text,class\n";
  for (int i = 0; i < 200; ++i) {
    const std::string square = std::to_string((i + 5) * (i + 5));
    lines += square + "\n";
    records += absl::StrCat(square, ",1,", square, ",", square.substr(0, 1), "\n");
  }
  write_bytes(folder / "lines.txt", lines);
  write_bytes(folder / "records.csv", records);
  std::vector<DataOptions> all;
  for (const TaskKind& task : task_kinds()) {
    if (task.name == "idx" || task.name == "image_folder") continue;
    DataOptions& options = all.emplace_back();
    options.task = task.name;
    options.alphabet = 20;
    options.length = 8;
    options.distance = 4;
    options.train_fraction = 0.5;
    if (std::ranges::count(task.keys, "path") != 0) options.path = folder / "lines.txt";
    if (std::ranges::count(task.keys, "answer_key") != 0) options.path = folder / "records.csv";
  }
  return all;
}

TEST(BatchTest, AValidationBatchBeginsWhereItIsAskedTo) {
  const TemporaryFolder folder;
  for (const DataOptions& options : every_task(folder)) {
    SCOPED_TRACE(options.task);
    const std::unique_ptr<Dataset> dataset = dataset_of(options);
    const Batch all = dataset->validation_batch(0, 5), some = dataset->validation_batch(2, 3);
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(row_of(some.inputs[0], row), row_of(all.inputs[0], row + 2));
      EXPECT_EQ(row_of(some.targets, row), row_of(all.targets, row + 2));
    }
    EXPECT_NE(row_of(all.inputs[0], 0), row_of(all.inputs[0], 2));
  }
}

TEST(BatchTest, ATrainingBatchIsAFunctionOfSeedAndIndexAndItsRowsNotOfItsSize) {
  const TemporaryFolder folder;
  for (const DataOptions& options : every_task(folder)) {
    SCOPED_TRACE(options.task);
    const auto dataset = dataset_of(options, 3);
    const Batch batch = dataset->training_batch(7, 16);
    const Batch few = dataset->training_batch(7, 3);
    EXPECT_TRUE(same(batch, dataset->training_batch(7, 16)));
    EXPECT_TRUE(same(batch, dataset_of(options, 3)->training_batch(7, 16)));
    EXPECT_FALSE(same(batch, dataset->training_batch(8, 16)));
    EXPECT_FALSE(same(batch, dataset_of(options, 4)->training_batch(7, 16)));
    const std::vector<double> row = row_of(few.inputs[0], 2), longer = row_of(batch.inputs[0], 2);
    const auto size = static_cast<ptrdiff_t>(std::min(row.size(), longer.size()));
    EXPECT_TRUE(std::equal(row.begin(), row.begin() + size, longer.begin()));
  }
}

TEST(BatchTest, TheShapeHoldsTheLongestOfTrainingAndValidation) {
  for (const auto& [length, validation] : {std::pair(4, 6), std::pair(6, 4)}) {
    DataOptions options;
    options.task = "reverse";
    options.length = length;
    options.validation_length = validation;
    const auto shape = [&](DataForm form) { return (*make_dataset(options, 1, form))->shape(); };
    EXPECT_EQ(shape(DataForm::kSequence).max_length, 2 * 6);  // with "=", without the last
    EXPECT_EQ(shape(DataForm::kSourceTarget).source_length, 6 + 1);
    EXPECT_EQ(shape(DataForm::kSourceTarget).max_length, 6);
    options.task = "parity";
    EXPECT_EQ(shape(DataForm::kClass).max_length, 6 + 1);
  }
}

}  // namespace
}  // namespace qkv
