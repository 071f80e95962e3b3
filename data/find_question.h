#pragma once

#include <optional>
#include <vector>

#include "data/task.h"

namespace qkv {

// The example of a task that asks this, so that its answer is known. Found by trying the decisions
// that make an example one after the other; none where no example has that prompt, or where it is
// not found so.
std::optional<Example> find_question(const Task& task, const std::vector<int64_t>& prompt);

}  // namespace qkv
