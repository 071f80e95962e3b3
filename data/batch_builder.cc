#include "data/batch_builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {

BatchBuilder::BatchBuilder(int64_t rows, int64_t length, int64_t padding) {
  if (rows < 1 || length < 1) {
    fail(absl::StrCat("batch: ", rows, " rows of ", length, " tokens: both must be at least 1"));
  }
  inputs_ = Array(Shape{rows, length}, DType::i64);
  targets_ = Array(Shape{rows, length}, DType::i64);
  std::fill_n(inputs_.mutable_data<int64_t>(), rows * length, padding);
  std::fill_n(targets_.mutable_data<int64_t>(), rows * length, kIgnoredTarget);
}

void BatchBuilder::set_row(int64_t row, std::span<const int64_t> sequence, int64_t first_target,
                           std::span<const size_t> earlier) {
  const int64_t length = inputs_.shape()[1];
  const auto tokens = static_cast<int64_t>(sequence.size());
  if (row < 0 || row >= inputs_.shape()[0] || tokens < 2 || tokens > length + 1) {
    fail(absl::StrCat("batch: a sequence of ", tokens, " tokens does not fit row ", row, " of ",
                      inputs_.describe()));
  }
  std::copy(sequence.begin(), sequence.end() - 1, inputs_.mutable_data<int64_t>() + row * length);
  const int64_t first = std::max<int64_t>(first_target, 1);
  int64_t* targets = targets_.mutable_data<int64_t>() + row * length;
  std::copy(sequence.begin() + first, sequence.end(), targets + first - 1);
  for (const size_t place : earlier) targets[place - 1] = sequence[place];
}

void check_validation_range(int64_t first, int64_t count, int64_t size) {
  if (first < 0 || count < 1 || first > size - count) {
    fail(absl::StrCat("validation_batch: examples ", first, " … ", first + count - 1,
                      " are out of range: there are ", size));
  }
}

void check_training_batch(int64_t index, int64_t batch_size) {
  if (index < 0 || batch_size < 1) {
    fail(absl::StrCat("training_batch: index ", index, " and batch_size ", batch_size,
                      ": must be at least 0 and 1"));
  }
}

}  // namespace qkv
