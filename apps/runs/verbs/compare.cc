#include <algorithm>

#include "absl/strings/str_format.h"
#include "apps/runs/run_summary.h"
#include "cli/kit.h"
#include "framework/core/text/columns.h"
#include "train/config/config.h"

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

// The differences of two runs: the keys of their configs, their results, and the first logged step
// whose losses differ. A damaged run is compared as far as it can be read; the caller says why it
// is damaged.
std::string comparison_text(const RunSummary& a, const RunSummary& b,
                            const std::vector<Facts>& both) {
  std::vector<std::vector<std::string>> rows = {{"", printable(a.path), printable(b.path)}};
  for (const ConfigDifference& each : differences_of(a, b)) {
    rows.push_back({each.key, printable(each.a), printable(each.b)});
  }
  const bool same_config = rows.size() == 1 && a.has_config && b.has_config;
  for (std::vector<std::string>& row :
       in_english(listed(both, {"state", "steps", "best_val_loss", "best_step", "accuracy",
                                "seconds", "tokens_per_second"}))) {
    std::ranges::replace(row, "", "–");
    rows.push_back(std::move(row));
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

std::string comparison_json(const RunSummary& a, const RunSummary& b,
                            const std::vector<Facts>& both) {
  Json config = Json::object();
  for (const ConfigDifference& each : differences_of(a, b)) config[each.key] = {each.a, each.b};
  const Losses losses = compare_losses(a, b);
  return json_text({{"runs", {a.path, b.path}},
                    {"config", a.has_config && b.has_config ? config : Json()},
                    {"results", json_of(both, {"state", "steps", "best_val_loss", "accuracy",
                                               "seconds", "tokens_per_second"})},
                    {"steps_logged_by_both", losses.common},
                    {"first_step_whose_losses_differ", json_or_null(losses.differ)}});
}

void add_compare_options(OptionList& options) { options.json("the comparison"); }

absl::Status run_compare(const std::string& first, const GivenOptions& given) {
  RETURN_IF_ERROR(check_json(given, "{\n  \"runs\": "));
  ASSIGN_OR_RETURN(const RunSummary a, summarize_run(first));
  ASSIGN_OR_RETURN(const RunSummary b, summarize_run(given.arguments()[1]));
  const std::vector<Facts> both = {facts_of(a), facts_of(b)};
  RETURN_IF_ERROR(show_or_write(given, comparison_text(a, b, both), comparison_json(a, b, both)));
  std::vector<absl::Status> damages;
  for (const RunSummary* run : {&a, &b}) {
    if (!run->is_damaged()) continue;
    damages.push_back(data_loss(run->path, " is ", run->state));
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
