#include "apps/runs/sweep/sweep_table.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/json_values.h"
#include "apps/report/statistics.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// "0.0312 ± 0.0004"; small losses as "3.12e-05 ± 4.1e-07".
std::string loss_text(const Spread& spread) {
  if (spread.count == 0) return "";
  const bool is_small = spread.mean < 0.001;
  std::string text =
      is_small ? absl::StrFormat("%.2e", spread.mean) : absl::StrFormat("%.4f", spread.mean);
  if (spread.count == 1) return text;
  return absl::StrCat(text, " ± ",
                      is_small ? absl::StrFormat("%.1e", spread.deviation)
                               : absl::StrFormat("%.4f", spread.deviation));
}

// "98.2 ± 0.3 %", never rounded up to 100 %.
std::string accuracy_text(const Spread& spread) {
  if (spread.count == 0) return "";
  const double percent = std::floor(spread.mean * 1000.0 + 1e-9) / 10.0;
  return spread.count == 1 ? absl::StrFormat("%.1f %%", percent)
                           : absl::StrFormat("%.1f ± %.1f %%", percent, spread.deviation * 100.0);
}

std::string short_name(const std::string& key) { return key.substr(key.find('.') + 1); }

// The short names, unless two keys have the same.
std::vector<std::string> headings(const std::vector<std::string>& keys) {
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    size_t same = 0;
    for (const std::string& other : keys) same += short_name(other) == short_name(key);
    names.push_back(same == 1 ? short_name(key) : key);
  }
  return names;
}

Json number(const Spread& spread, double value, size_t least = 1) {
  return spread.count >= least ? Json(value) : Json();
}

// A value as TOML writes it is one of JSON, too.
Json json_value(const std::string& toml) {
  Json value = Json::parse(toml, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(toml) : value;
}

Json run_json(const SweepRun& run, const std::optional<RunSummary>& summary,
              const std::string& error) {
  Json object = {
      {"run", run.folder}, {"seed", run.config.seed}, {"state", summary ? "finished" : "failed"}};
  if (!summary) {
    object["error"] = error;
    return object;
  }
  object["best_step"] = summary->best ? Json(summary->best->step) : Json();
  object["best_val_loss"] = json_or_null(summary->best_loss());
  object["accuracy"] = json_or_null(summary->accuracy());
  object["seconds"] = summary->seconds;
  return object;
}

Spread spread_of(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  return {.count = numbers.size(), .mean = mean_of(numbers), .deviation = deviation_of(numbers)};
}

}  // namespace

SweepResults sweep_results(const SweepPlan& plan, const SweepOutcome& outcome) {
  SweepResults results;
  auto failure = outcome.begin();
  for (const Combination& combination : plan.combinations) {
    CombinationResult& result = results.combinations.emplace_back();
    std::vector<double> losses, accuracies;
    for (const SweepRun& run : combination.runs) {
      result.runs.emplace_back();
      if (!(failure++)->empty()) continue;
      absl::StatusOr<RunSummary> summary = summarize_run(run.folder);
      if (!summary.ok()) continue;  // it was removed in between
      if (const auto loss = summary->best_loss()) losses.push_back(*loss);
      if (const auto accuracy = summary->accuracy()) accuracies.push_back(*accuracy);
      result.runs.back() = *std::move(summary);
    }
    result.loss = spread_of(losses);
    result.accuracy = spread_of(accuracies);
    const auto rank = [](const CombinationResult& r) {
      return std::pair(r.runs.size() - r.loss.count, r.loss.mean);
    };
    if (result.loss.count == 0) continue;
    if (!results.best || rank(result) < rank(results.combinations[*results.best])) {
      results.best = results.combinations.size() - 1;
    }
  }
  return results;
}

std::string sweep_table(const SweepPlan& plan, const SweepOutcome& outcome,
                        const SweepResults& results) {
  std::vector<std::vector<std::string>> rows = {headings(plan.keys)};
  rows[0].insert(rows[0].end(), {"best loss", "right", "seeds", ""});
  std::string failures;
  size_t number = 0;
  for (size_t i = 0; i < plan.combinations.size(); ++i) {
    const Combination& combination = plan.combinations[i];
    const CombinationResult& result = results.combinations[i];
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string& value : combination.values) {
      const bool is_text = value.starts_with('"');
      row.push_back(printable(is_text ? value.substr(1, value.size() - 2) : value));
    }
    const size_t all = combination.runs.size(), finished = result.loss.count;
    row.insert(row.end(),
               {loss_text(result.loss), accuracy_text(result.accuracy),
                finished == all ? absl::StrCat(all) : absl::StrCat(finished, " of ", all),
                results.best == i && plan.combinations.size() > 1 ? "the best" : ""});
    for (const SweepRun& run : combination.runs) {
      const std::string& error = outcome[number++];
      if (error.empty()) continue;
      failures +=
          wrapped(absl::StrCat(printable(run.name), " failed: ", printable(error)), text_columns());
    }
  }
  return aligned(rows, {.left = plan.keys.size()}) + failures;
}

std::string sweep_json(const SweepPlan& plan, const SweepOutcome& outcome,
                       const SweepResults& results) {
  Json combinations = Json::array();
  size_t number_of_run = 0;
  for (size_t i = 0; i < plan.combinations.size(); ++i) {
    const Combination& combination = plan.combinations[i];
    const CombinationResult& result = results.combinations[i];
    Json settings = Json::object(), runs = Json::array();
    for (size_t k = 0; k < plan.keys.size(); ++k) {
      settings[plan.keys[k]] = json_value(combination.values[k]);
    }
    for (size_t k = 0; k < combination.runs.size(); ++k) {
      runs.push_back(run_json(combination.runs[k], result.runs[k], outcome[number_of_run++]));
    }
    combinations.push_back(
        {{"settings", settings},
         {"best", results.best == i},
         {"finished", result.loss.count},
         {"mean_best_val_loss", number(result.loss, result.loss.mean)},
         {"standard_deviation_of_best_val_loss", number(result.loss, result.loss.deviation, 2)},
         {"mean_accuracy", number(result.accuracy, result.accuracy.mean)},
         {"standard_deviation_of_accuracy", number(result.accuracy, result.accuracy.deviation, 2)},
         {"runs", runs}});
  }
  const Json document = {{"sweep", plan.folder}, {"combinations", combinations}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
