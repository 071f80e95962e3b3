#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "apps/lesson/lesson.h"
#include "apps/lesson/tape.h"
#include "framework/core/text/terminal.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// The example that the model of a run reads: a prompt, or else a validation example.
struct RunExample {
  std::optional<std::string> prompt = {};
  std::optional<std::string> target = {};  // to follow the prompt; by default the answer
  // Counted from 0; by default that of the first few whose loss is largest, so that it can be seen.
  std::optional<int64_t> validation = {};
};

// The example, as a batch of one row. A validation example of a text is cut to 32 tokens.
absl::StatusOr<Batch> example_of_run(const RunWithData& run, const RunExample& example,
                                     const TellNote& tell);

// The lesson of a run, with its parameters in f64. Errors name the options of `qkv explain`. Where
// the task has no answer to the prompt, the model's own is the target, and a note says so.
absl::StatusOr<Lesson> lesson_of_run(const std::string& run, const RunExample& example,
                                     const TellNote& tell);
absl::StatusOr<Lesson> lesson_of_run(LoadedRun run, const RunExample& example,
                                     const TellNote& tell);

// Adds the lesson's example as numbered checkpoints of the run see it: all, or as many as a page of
// that many megabytes may have. A note names one that cannot be read, which is left out; `progress`
// gets the one being read.
void add_history(const std::string& run, const Recording& recording,
                 std::optional<int64_t> megabytes, Lesson& lesson, const TellNote& tell,
                 const TellProgress& progress);

}  // namespace qkv
