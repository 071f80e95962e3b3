#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/json_values.h"
#include "apps/runs/run_summary.h"
#include "cli/kit.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "train/config/config.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

struct Losses {
  int64_t common = 0;             // steps that both have logged
  std::optional<int64_t> differ;  // the first of them with another loss
  double a = 0, b = 0;            // there
};

Losses compare_losses(const RunSummary& a, const RunSummary& b) {
  std::map<int64_t, double> of_a;
  for (const Metrics& line : a.metrics) {
    if (line.loss) of_a[line.step] = *line.loss;
  }
  Losses losses;
  for (const Metrics& line : b.metrics) {
    const auto same_step = of_a.find(line.step);
    if (!line.loss || same_step == of_a.end()) continue;
    ++losses.common;
    if (same_step->second == *line.loss) continue;
    return {losses.common, line.step, same_step->second, *line.loss};
  }
  return losses;
}

std::string losses_text(const Losses& losses) {
  if (losses.common == 0) return "no step is logged by both";
  if (!losses.differ) {
    return absl::StrCat("the losses of the training batches are the same in all ", losses.common,
                        " steps that both logged");
  }
  return absl::StrFormat("the losses of the training batches differ from step %d on: %.6g and %.6g",
                         *losses.differ, losses.a, losses.b);
}

// None where one of the configs cannot be read.
std::vector<ConfigDifference> differences_of(const RunSummary& a, const RunSummary& b) {
  if (!a.has_config || !b.has_config) return {};
  return config_differences(a.config, b.config);
}

// The results of a run, as a person reads them.
std::vector<std::pair<std::string, std::string>> results_of(const RunSummary& run) {
  const std::optional<double> loss = run.best_loss(), right = run.accuracy(),
                              speed = run.tokens_per_second();
  return {{"state", run.is_damaged() ? "damaged" : run.state},
          {"steps", absl::StrCat(run.steps)},
          {"best validation loss", loss ? absl::StrFormat("%.4f", *loss) : "–"},
          {"at step", run.best ? absl::StrCat(run.best->step) : "–"},
          {"right", right ? format_percent(*right) : "–"},
          {"time", run.metrics.empty() ? "–" : format_duration(run.seconds)},
          {"tokens a second", speed ? absl::StrFormat("%.0f", *speed) : "–"}};
}

// The differences of two runs: the keys of their configs, their results, and the first logged step
// whose losses differ. For a terminal, or as an object of JSON. A
// damaged run is compared as far as it can be read; the caller says why it is damaged.
std::string comparison_text(const RunSummary& a, const RunSummary& b) {
  std::vector<std::vector<std::string>> rows = {{"", printable(a.path), printable(b.path)}};
  for (const ConfigDifference& each : differences_of(a, b)) {
    rows.push_back({each.key, printable(each.a), printable(each.b)});
  }
  const bool same_config = rows.size() == 1 && a.has_config && b.has_config;
  const auto of_a = results_of(a), of_b = results_of(b);
  for (size_t i = 0; i < of_a.size(); ++i) {
    rows.push_back({of_a[i].first, of_a[i].second, of_b[i].second});
  }
  std::string table = aligned(rows, {.left = 1});
  if (text_width(table.substr(0, table.find('\n'))) > text_columns()) {  // long names, said below
    rows[0] = {"", "A", "B"};
    table = absl::StrCat(aligned(rows, {.left = 1}), "A is ", printable(a.path), "\nB is ",
                         printable(b.path), "\n");
  }
  return absl::StrCat(table, same_config ? "the configs are the same\n" : "",
                      wrapped(losses_text(compare_losses(a, b)), text_columns()));
}

std::string comparison_json(const RunSummary& a, const RunSummary& b) {
  using Json = nlohmann::ordered_json;
  Json config = Json::object(), results = Json::object();
  for (const ConfigDifference& each : differences_of(a, b)) {
    config[each.key] = {each.a, each.b};
  }
  results["state"] = {a.state, b.state};
  results["steps"] = {a.steps, b.steps};
  results["best_val_loss"] = {json_or_null(a.best_loss()), json_or_null(b.best_loss())};
  results["accuracy"] = {json_or_null(a.accuracy()), json_or_null(b.accuracy())};
  results["seconds"] = {a.seconds, b.seconds};
  results["tokens_per_second"] = {json_or_null(a.tokens_per_second()),
                                  json_or_null(b.tokens_per_second())};
  const Losses losses = compare_losses(a, b);
  const Json json = {{"runs", {a.path, b.path}},
                     {"config", a.has_config && b.has_config ? config : Json()},
                     {"results", results},
                     {"steps_logged_by_both", losses.common},
                     {"first_step_whose_losses_differ", json_or_null(losses.differ)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_compare_options(OptionList& options) { options.json("the comparison"); }

absl::Status run_compare(const std::string& first, const GivenOptions& given) {
  if (absl::Status s = check_json(given, "{\n  \"runs\": "); !s.ok()) return s;
  const absl::StatusOr<RunSummary> a = summarize_run(first);
  if (!a.ok()) return a.status();
  const absl::StatusOr<RunSummary> b = summarize_run(given.arguments()[1]);
  if (!b.ok()) return b.status();
  absl::Status s = show_or_write(given, comparison_text(*a, *b), comparison_json(*a, *b));
  if (!s.ok()) return s;
  std::vector<absl::Status> damages;
  for (const RunSummary* run : {&*a, &*b}) {
    if (!run->is_damaged()) continue;
    damages.push_back(absl::DataLossError(absl::StrCat(run->path, " is ", run->state)));
  }
  return all_mistakes(damages);
}

}  // namespace

Verb compare_verb() {
  return {{"compare", "RUN RUN", "shows what differs between two runs"},
          add_compare_options,
          run_compare};
}

}  // namespace qkv
