#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace qkv {

// Lays sequences out as a batch, one in each row, padded at the right. Under a causal mask the
// padding cannot reach the sequence on its left, so it needs no mask of its own.
class BatchBuilder {
 public:
  // Throws Error unless rows and length are at least 1.
  BatchBuilder(int64_t rows, int64_t length, int64_t padding);

  // inputs = sequence[:-1], targets = sequence[1:]; of these, the ones before
  // sequence[first_target] are ignored, but for those in `earlier`. Throws Error on a sequence of
  // less than two tokens or one longer than a row.
  void set_row(int64_t row, std::span<const int64_t> sequence, int64_t first_target,
               std::span<const size_t> earlier = {});

  Batch batch() const { return {{inputs_}, targets_}; }

 private:
  Array inputs_, targets_;
};

// Throws Error unless `first` … `first + count - 1` are in 0 … size - 1 and count is at least 1.
void check_validation_range(int64_t first, int64_t count, int64_t size);

// Throws Error unless index >= 0 and batch_size >= 1.
void check_training_batch(int64_t index, int64_t batch_size);

// The longest there are, in tokens.
struct QuestionLengths {
  int64_t prompt = 0;
  int64_t answer = 0;
  int64_t both = 0;  // of one example
};

// The shape of such questions. Where the answer is a class, the classes are the tokens.
DataShape shape_of(const QuestionLengths& longest, int64_t vocabulary_size, DataForm form);

// Questions and their answers as a batch, one in each row, padded at the right. Throws Error where
// one is longer than `longest` says.
Batch question_batch(DataForm form, const std::vector<Example>& examples,
                     const QuestionLengths& longest, int64_t padding);

}  // namespace qkv
