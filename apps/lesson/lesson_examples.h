#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/lesson/lesson.h"

namespace qkv {

// Lessons that need no run: models of one layer, d_model 3 or 4, whose parameters have one digit
// after the point; but for the last.
//   three-words        a decoder as runs have it, with norms and biases
//   blackboard         has no norms: its queries, keys and values have one digit after the point
//   bare               softmax(X Xᵀ) X
//   thinking-machines  has the weights 0.88 and 0.12 of Alammar, The Illustrated Transformer, 2018
//   learn              knows nothing, and its page trains it to reverse three symbols: d_model 16
std::vector<std::string> lesson_names();
absl::StatusOr<Lesson> find_lesson(const std::string& name);

}  // namespace qkv
