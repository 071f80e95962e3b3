#include <algorithm>
#include <limits>

#include "apps/runs/run_summary.h"
#include "cli/kit.h"
#include "framework/core/each_of.h"
#include "framework/core/text/columns.h"

namespace qkv {

enum class RunOrder { kWhen, kName, kSteps, kLoss, kAccuracy, kTime };
template <>
inline constexpr Named<RunOrder> kNames<RunOrder>[] = {
    {"when", RunOrder::kWhen}, {"name", RunOrder::kName},         {"steps", RunOrder::kSteps},
    {"loss", RunOrder::kLoss}, {"accuracy", RunOrder::kAccuracy}, {"time", RunOrder::kTime}};

namespace {

// The newest first; by name, from A; the most steps, the smallest loss, the highest accuracy, the
// shortest time first. A run without such a number comes last.
double key_of(const RunSummary& run, RunOrder order) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  switch (order) {
    case RunOrder::kWhen:
      return -static_cast<double>(run.changed.time_since_epoch().count());
    case RunOrder::kName:
      return 0;
    case RunOrder::kSteps:
      return -static_cast<double>(run.steps);
    case RunOrder::kLoss:
      return run.best_loss().value_or(kLast);
    case RunOrder::kAccuracy:
      return -run.accuracy().value_or(-kLast);
    case RunOrder::kTime:
      return run.metrics.empty() ? kLast : run.seconds;
  }
  return 0;
}

std::string runs_text(const std::vector<RunSummary>& runs) {
  std::string damages;
  for (const RunSummary& run : runs) {
    if (!run.is_damaged()) continue;
    damages += wrapped(absl::StrCat(printable(run.path), " is ", run.state), text_columns());
  }
  const auto rows =
      tabled(each_of(runs, facts_of),
             {"run", "task", "state", "steps", "best_val_loss", "accuracy", "seconds", "changed"});
  return fitted_table(in_english(rows), {.left = 3}, {"when", "task", "time", "state"},
                      text_columns()) +
         damages;
}

void add_runs_options(OptionList& options) {
  options.text("sort", "KEY", "Order: when, name, steps, loss, accuracy or time", "when");
  options.one_of("sort", names_of<RunOrder>);
  options.json("the table");
}

absl::Status run_runs(const std::string& argument, const GivenOptions& given) {
  RETURN_IF_ERROR(check_json(given, "[\n"));
  const std::string folder = argument.empty() ? "runs" : argument;
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, find_runs(folder));
  std::vector<RunSummary> runs;
  for (const std::string& path : paths) {
    absl::StatusOr<RunSummary> run = summarize_run(path);
    if (run.ok()) runs.push_back(*std::move(run));  // else it was removed in between
  }
  const auto order = given.value<RunOrder>("sort");
  std::ranges::sort(
      runs, {}, [order](const RunSummary& run) { return std::pair(key_of(run, order), run.path); });
  if (runs.empty()) {  // the JSON begins as any other (cli/show.h)
    return show_or_write(given, absl::StrCat("there is no run in ", folder, "\n"), "[\n]\n");
  }
  return show_or_write(given, runs_text(runs), json_text(json_of(each_of(runs, facts_of))));
}

}  // namespace

Verb runs_verb() {
  return {
      {"runs", "[DIR]", "lists the runs in a folder, by default runs"}, add_runs_options, run_runs};
}

}  // namespace qkv
