#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "apps/runs/sweep/sweep_plan.h"
#include "framework/core/status.h"

namespace qkv {

struct SweepOptions {
  std::optional<int64_t> jobs;   // runs at a time, on the cores that there are; one for each core
  std::FILE* tell = stdout;      // how it goes is written there
  int64_t ranks_on_machine = 1;  // processes of the sweep that share the cores
};

// Why each run of the plan failed, in its order; "": it is finished.
using SweepOutcome = std::vector<std::string>;

// Trains every run of a plan that is not finished, each by a `qkv train` of its own: to the same
// bits. A run that fails ends no other. Several processes may do so at once, on any machines that
// share the folder: each takes the next run that is free. Cancelled where Ctrl-C, SIGTERM or a
// closed terminal stops the sweep: the runs are saved, and the same call continues them.
absl::StatusOr<SweepOutcome> run_sweep(const SweepPlan& plan, const SweepOptions& options);

}  // namespace qkv
