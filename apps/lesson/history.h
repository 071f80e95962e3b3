#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/lesson/recording.h"

namespace qkv {

// What the same example looked like after some step of training.
struct LessonFrame {
  int64_t step = 0;
  double loss = 0;
  std::vector<std::pair<std::string, Tensor>> weights = {};  // [B, H, Tq, Tk], by layer
  // The root of the sum of squares of the gradients of a part's parameters: "blocks.0",
  // "token_embedding".
  std::vector<std::pair<std::string, double>> gradient_norms = {};
  std::vector<std::pair<std::string, Tensor>> parameters = {};  // of a small model
};

// "encoder.blocks.0" of "encoder.blocks.0.attention.query.weight"; else what stands before the
// first dot.
std::string part_of_parameter(const std::string& name);

LessonFrame frame_of(const Recording& recording, int64_t step);

// Which of `count` frames like this recording to make: the first, the last and others evenly
// between them, so few that their weights have at most so many numbers; but two at least.
std::vector<size_t> spread_frames(size_t count, const Recording& recording, int64_t most_numbers);

}  // namespace qkv
