#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/options.h"
#include "data/task.h"

namespace qkv {

// The three kinds of data sets that make_dataset chooses from. Options must be free of mistakes
// (find_mistakes).

// Questions and answers of `task`. Training draws questions at random; validation is a list of
// different questions of the other side. An error when a side has no question at all.
absl::StatusOr<std::unique_ptr<Dataset>> make_task_dataset(const DataOptions& options, Task task,
                                                           uint64_t seed);

// The characters of the file options.path. Its first train_fraction is for training, in windows at
// random places; validation is the whole rest, cut into windows that follow one another, of which
// the last may be shorter. The vocabulary is every character of the file. An error when the file
// cannot be read or a part is shorter than one window and its targets.
absl::StatusOr<std::unique_ptr<Dataset>> make_text_dataset(const DataOptions& options,
                                                           uint64_t seed);

// Each line of the file options.path is an example: it begins after a "\n" and has to end with one.
// Lines of nothing but white space are left out. Validation asks each held-out line once, however
// often the file has it. An error when the file cannot be read, a line is longer than a model
// could want, or a side has no line.
absl::StatusOr<std::unique_ptr<Dataset>> make_lines_dataset(const DataOptions& options,
                                                            uint64_t seed);

}  // namespace qkv
