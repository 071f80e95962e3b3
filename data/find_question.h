#pragma once

#include <optional>
#include <vector>

#include "data/task.h"

namespace qkv {

// The example of a task that asks this, so that its answer is known; none where no example has that
// prompt. Takes as long as making one example, or where the task cannot tell its decisions, as long
// as making each.
std::optional<Example> find_question(const Task& task, const std::vector<int64_t>& prompt);

// An example of the task, which shows what a question looks like. It is always the same one.
Example example_question(const Task& task);

}  // namespace qkv
