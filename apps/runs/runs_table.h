#pragma once

#include <string>
#include <vector>

#include "apps/runs/run_summary.h"
#include "framework/core/text/names.h"

namespace qkv {

enum class RunOrder { kWhen, kName, kSteps, kLoss, kAccuracy, kTime };
template <>
inline constexpr Named<RunOrder> kNames<RunOrder>[] = {
    {"when", RunOrder::kWhen}, {"name", RunOrder::kName},         {"steps", RunOrder::kSteps},
    {"loss", RunOrder::kLoss}, {"accuracy", RunOrder::kAccuracy}, {"time", RunOrder::kTime}};

// The newest first; by name, from A; the most steps, the smallest loss, the highest accuracy, the
// shortest time first. A run without such a number comes last.
void sort_runs(std::vector<RunSummary>& runs, RunOrder order);

// Cells for each run: its name, its task, its state, …, under a row of headings.
std::vector<std::vector<std::string>> runs_rows(const std::vector<RunSummary>& runs);
// The same as lines for a terminal, with the errors of damaged runs.
std::string runs_table(const std::vector<RunSummary>& runs);
// A list of objects.
std::string runs_json(const std::vector<RunSummary>& runs);

}  // namespace qkv
