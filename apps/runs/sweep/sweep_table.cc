#include "apps/runs/sweep/sweep_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/report/facts.h"
#include "apps/report/statistics.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

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

std::optional<double> mean(const std::vector<double>& numbers) {
  return numbers.empty() ? std::nullopt : std::optional(mean_of(numbers));
}

std::optional<double> deviation(const std::vector<double>& numbers) {
  return numbers.size() < 2 ? std::nullopt : std::optional(deviation_of(numbers));
}

// A value as TOML writes it is one of JSON, too.
Json json_value(const std::string& toml) {
  Json value = Json::parse(toml, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(toml) : value;
}

Facts settings_of(const SweepPlan& plan, const Combination& combination) {
  const std::vector<std::string> names = headings(plan.keys);
  Facts facts;
  for (size_t k = 0; k < names.size(); ++k) {
    const std::string& value = combination.values[k];
    const std::string text = value.starts_with('"') ? value.substr(1, value.size() - 2) : value;
    facts.emplace_back(plan.keys[k], names[k], json_value(value), printable(text));
  }
  return facts;
}

Json run_json(const SweepRun& run, const std::optional<RunSummary>& summary,
              const std::string& error) {
  Json object = {
      {"run", run.folder}, {"seed", run.config.seed}, {"state", summary ? "finished" : "failed"}};
  if (!summary) {
    object["error"] = error;
    return object;
  }
  const Json facts = json_of(facts_of(*summary));
  for (const char* key : {"best_step", "best_val_loss", "accuracy", "seconds"}) {
    object[key] = facts[key];
  }
  return object;
}

}  // namespace

SweepResults sweep_results(const SweepPlan& plan, const SweepOutcome& outcome) {
  SweepResults results;
  auto failure = outcome.begin();
  for (const Combination& combination : plan.combinations) {
    CombinationResult& result = results.combinations.emplace_back();
    for (const SweepRun& run : combination.runs) {
      result.runs.emplace_back();
      if (!(failure++)->empty()) continue;
      absl::StatusOr<RunSummary> summary = summarize_run(run.folder);
      if (!summary.ok()) continue;  // it was removed in between
      if (const auto loss = summary->best_loss()) result.losses.push_back(*loss);
      if (const auto accuracy = summary->accuracy()) result.accuracies.push_back(*accuracy);
      result.runs.back() = *std::move(summary);
    }
    const auto rank = [](const CombinationResult& r) {
      return std::pair(r.runs.size() - r.losses.size(), mean(r.losses));
    };
    if (result.losses.empty()) continue;
    if (!results.best || rank(result) < rank(results.combinations[*results.best])) {
      results.best = results.combinations.size() - 1;
    }
  }
  return results;
}

SweepReport sweep_report(const SweepPlan& plan, const SweepOutcome& outcome,
                         const SweepResults& results) {
  std::vector<Facts> rows, shown;
  std::string failures;
  auto error = outcome.begin();
  for (size_t i = 0; i < plan.combinations.size(); ++i) {
    const Combination& combination = plan.combinations[i];
    const CombinationResult& result = results.combinations[i];
    Json runs = Json::array();
    for (size_t k = 0; k < combination.runs.size(); ++k, ++error) {
      const SweepRun& run = combination.runs[k];
      runs.push_back(run_json(run, result.runs[k], *error));
      if (error->empty()) continue;
      failures += wrapped(absl::StrCat(printable(run.name), " failed: ", printable(*error)),
                          text_columns());
    }
    const size_t all = combination.runs.size(), finished = result.losses.size();
    const bool is_best = results.best == i;
    Facts settings = settings_of(plan, combination);
    rows.push_back(
        {{"settings", "", json_of(settings)},
         {"best", "", is_best, is_best && plan.combinations.size() > 1 ? "the best" : ""},
         {"finished", "seeds", finished,
          finished == all ? absl::StrCat(all) : absl::StrCat(finished, " of ", all)},
         {"mean_best_val_loss", "best loss", mean(result.losses),
          format_samples(result.losses, Unit::kLoss)},
         {"standard_deviation_of_best_val_loss", "", deviation(result.losses)},
         {"mean_accuracy", "right", mean(result.accuracies),
          format_samples(result.accuracies, Unit::kShare)},
         {"standard_deviation_of_accuracy", "", deviation(result.accuracies)},
         {"runs", "", runs}});
    std::ranges::copy(rows.back(), std::back_inserter(settings));
    shown.push_back(std::move(settings));
  }
  Keys keys = plan.keys;
  keys.insert(keys.end(), {"mean_best_val_loss", "mean_accuracy", "finished", "best"});
  return {aligned(in_english(tabled(shown, keys)), {.left = plan.keys.size()}) + failures,
          json_text({{"sweep", plan.folder}, {"combinations", json_of(rows)}})};
}

}  // namespace qkv
