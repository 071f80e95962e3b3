#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/runs/run_summary.h"
#include "apps/runs/sweep/sweep.h"
#include "apps/runs/sweep/sweep_plan.h"

namespace qkv {

// Over the seeds of a combination.
struct Spread {
  size_t count = 0;
  double mean = 0;
  double deviation = 0;  // the sample's standard deviation, which one number does not have
};

struct CombinationResult {
  std::vector<std::optional<RunSummary>> runs;  // those that are finished
  Spread loss;                                  // the best validation loss of each
  Spread accuracy;                              // there
};

// The results of a sweep.
struct SweepResults {
  std::vector<CombinationResult> combinations;  // in the order of the plan
  // The one with the lowest mean loss, among those with the fewest failed runs.
  std::optional<size_t> best;
};
SweepResults sweep_results(const SweepPlan& plan, const SweepOutcome& outcome);

// A line for each combination and for each run that failed; or one JSON object.
std::string sweep_table(const SweepPlan& plan, const SweepOutcome& outcome,
                        const SweepResults& results);
std::string sweep_json(const SweepPlan& plan, const SweepOutcome& outcome,
                       const SweepResults& results);

}  // namespace qkv
