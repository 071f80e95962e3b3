#pragma once

#include <string>

#include "apps/lesson/lesson.h"
#include "apps/lesson/tape.h"

namespace qkv {

// The steps of one head of the lesson's layer, forward and then back from the loss, as text for a
// terminal of 80 columns: of each matrix its formula, its shape and its numbers; of a large one
// those around the lesson's position.
std::string lesson_walk(const Recording& recording, const Lesson& lesson);

}  // namespace qkv
