#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/runs/run_summary.h"
#include "apps/runs/sweep/sweep.h"
#include "apps/runs/sweep/sweep_plan.h"

namespace qkv {

struct CombinationResult {
  std::vector<std::optional<RunSummary>> runs;  // those that are finished
  std::vector<double> losses;                   // the best validation loss of each
  std::vector<double> accuracies;               // there
};

// The results of a sweep.
struct SweepResults {
  std::vector<CombinationResult> combinations;  // in the order of the plan
  // The one with the lowest mean loss, among those with the fewest failed runs.
  std::optional<size_t> best;
};
SweepResults sweep_results(const SweepPlan& plan, const SweepOutcome& outcome);

// A line for each combination and for each run that failed; and one JSON object.
struct SweepReport {
  std::string text, json;
};
SweepReport sweep_report(const SweepPlan& plan, const SweepOutcome& outcome,
                         const SweepResults& results);

}  // namespace qkv
