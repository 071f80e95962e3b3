#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace qkv {

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
