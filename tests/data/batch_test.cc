#include <gtest/gtest.h>

#include "data/tasks/tasks.h"

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
    if (is_last) EXPECT_EQ(padding.data<bool>()[i], !is_separator);
    if (!is_last) EXPECT_FALSE(padding.data<bool>()[i]);
  }
}

TEST(BatchTest, AnImageCountsOnce) { EXPECT_EQ(batch_of("shapes", DataForm::kClass).tokens(), 5); }

}  // namespace
}  // namespace qkv
