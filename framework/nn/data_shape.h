#pragma once

#include <cstdint>

namespace qkv {

// What a model must know of the data that it reads. A data set has it, and a checkpoint keeps it.
struct DataShape {
  int64_t vocabulary_size = 0;  // V: tokens are 0 … V - 1
  int64_t max_length = 0;       // of a sequence, in tokens
  int64_t classes = 0;          // of which a classifier chooses one; 0: it predicts tokens
  int64_t channels = 0, height = 0, width = 0;  // of an image; 0: tokens are read

  bool is_image() const { return height > 0; }
  const char* unit() const { return is_image() ? "images" : "tokens"; }  // of what is read
};

}  // namespace qkv
