#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/runs/replay/first_bad.h"
#include "framework/core/status.h"
#include "framework/core/text/terminal.h"

namespace qkv {

// A weight whose norm has grown.
struct WeightGrowth {
  std::string name;
  double before = 0, now = 0;
  double each_step = 1;  // factor
};

// A step of a run once more, to the bits that it had.
struct StepReplay {
  std::string run;
  std::string checkpoint;  // it begins there; "": at the beginning of the run
  int64_t first_step = 0;  // that the checkpoint had made
  int64_t step = 0;        // that is looked at; where `bad` is none, and no step was asked for: the
                           // last one that was repeated
  // Repeated steps with a line in metrics.jsonl, and the first of them whose loss is another one.
  int64_t compared = 0;
  std::optional<int64_t> differs_at = {};
  // None: all numbers are finite, and no step was asked for.
  std::optional<StepRecording> recording = {};
  std::optional<FirstBad> bad = {};
  std::vector<WeightGrowth> growth = {};  // since growth_since, the fastest first
  int64_t growth_since = 0;               // steps made
  int64_t logged = 0;                     // lines of metrics.jsonl
  std::vector<std::string> notes = {};
  std::string advice = {};  // where something is bad
};

// Continues from the newest checkpoint of a run until a number is not finite, or up to where the
// run would have saved the next one; and looks at that step. With `step`, looks at that one. The
// run's folder is not changed. `tell` reports progress.
absl::StatusOr<StepReplay> replay_run(const std::string& run, std::optional<int64_t> step,
                                      const TellProgress& tell);

std::string replay_text(const StepReplay& replay, bool with_table);
std::string replay_json(const StepReplay& replay, bool with_table);

}  // namespace qkv
