#pragma once

#include <string>
#include <vector>

#include "framework/core/names.h"
#include "train/runs/run_summary.h"

namespace qkv {

enum class RunOrder { kWhen, kName, kSteps, kLoss, kAccuracy, kTime };
template <>
inline constexpr Named<RunOrder> kNames<RunOrder>[] = {
    {"when", RunOrder::kWhen}, {"name", RunOrder::kName},         {"steps", RunOrder::kSteps},
    {"loss", RunOrder::kLoss}, {"accuracy", RunOrder::kAccuracy}, {"time", RunOrder::kTime}};

// The newest first; by name, from A; the most steps, the smallest loss, the highest accuracy, the
// shortest time first. What has no such number comes last.
void sort_runs(std::vector<RunSummary>& runs, RunOrder order);

// A line for each run, for a terminal.
std::string runs_table(const std::vector<RunSummary>& runs);
// A list of objects.
std::string runs_json(const std::vector<RunSummary>& runs);

}  // namespace qkv
