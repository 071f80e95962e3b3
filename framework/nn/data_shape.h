#pragma once

#include <cstdint>

namespace qkv {

// What a model must know of the data that it reads. A data set has it, and a checkpoint keeps it.
struct DataShape {
  int64_t vocabulary_size = 0;  // V: tokens are 0 … V - 1
  int64_t max_length = 0;       // of a sequence, in tokens
};

}  // namespace qkv
