#include "apps/runs/runs_table.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/json_values.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

// By local time: "2026-11-26 05:10".
std::string when(const RunSummary& run) {
  const auto time = std::chrono::file_clock::to_sys(run.changed);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::string steps_text(const RunSummary& run) {
  const int64_t planned = run.config.train.steps;
  return run.steps == planned ? absl::StrCat(planned) : absl::StrCat(run.steps, "/", planned);
}

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

}  // namespace

void sort_runs(std::vector<RunSummary>& runs, RunOrder order) {
  std::ranges::sort(
      runs, {}, [order](const RunSummary& run) { return std::pair(key_of(run, order), run.path); });
}

std::vector<std::vector<std::string>> runs_rows(const std::vector<RunSummary>& runs) {
  std::vector<std::vector<std::string>> rows = {
      {"run", "task", "state", "steps", "best loss", "right", "time", "when"}};
  for (const RunSummary& run : runs) {
    const std::optional<double> loss = run.best_loss(), right = run.accuracy();
    const bool is_damaged = run.is_damaged();
    rows.push_back({printable(run.path), is_damaged ? "" : run.config.data.task,
                    is_damaged ? "damaged" : run.state, is_damaged ? "" : steps_text(run),
                    loss ? absl::StrFormat("%.4f", *loss) : "", right ? format_percent(*right) : "",
                    run.metrics.empty() ? "" : format_duration(run.seconds), when(run)});
  }
  return rows;
}

std::string runs_table(const std::vector<RunSummary>& runs) {
  std::string damages;
  for (const RunSummary& run : runs) {
    if (!run.is_damaged()) continue;
    damages += wrapped(absl::StrCat(printable(run.path), " is ", run.state), text_columns());
  }
  return fitted_table(runs_rows(runs), {.left = 3}, {"when", "task", "time", "state"},
                      text_columns()) +
         damages;
}

std::string runs_json(const std::vector<RunSummary>& runs) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const RunSummary& run : runs) {
    list.push_back({{"run", run.path},
                    {"name", run.config.name},
                    {"task", run.config.data.task},
                    {"kind", run.config.model.kind},
                    {"seed", run.config.seed},
                    {"state", run.state},
                    {"steps", run.steps},
                    {"planned_steps", run.config.train.steps},
                    {"best_step",
                     run.best ? nlohmann::ordered_json(run.best->step) : nlohmann::ordered_json()},
                    {"best_val_loss", json_or_null(run.best_loss())},
                    {"accuracy", json_or_null(run.accuracy())},
                    {"seconds", run.seconds},
                    {"tokens_per_second", json_or_null(run.tokens_per_second())},
                    {"changed", when(run)}});
  }
  if (list.empty()) return "[\n]\n";  // begins as any other (cli/show.h)
  return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
