#pragma once

#include <cstdint>
#include <string>

#include "apps/lesson/lesson.h"
#include "apps/lesson/tape.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// The page of a lesson, with what fits into fewer than `most_bytes`: all of the model, or the block
// of the lesson's layer, or that layer with its maps; the engine's results, to compare with the
// page's; other forms of the model, where it has them; the steps of its training, spread evenly. A
// layer that is too large by itself makes a larger page. A note says how many steps it leaves out.
std::string fitted_page(Recording recording, const Lesson& lesson, int64_t most_bytes,
                        const TellNote& tell = nullptr);

}  // namespace qkv
