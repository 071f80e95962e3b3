#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/verbs.h"
#include "train/runs/runs_table.h"

namespace qkv {
namespace {

void add_runs_options(OptionList& options) {
  options.text("sort", "KEY", "Order: when, name, steps, loss, accuracy or time", "when");
  options.flag("json", "Prints a list of JSON objects");
}

absl::Status run_runs(const std::string& argument, const GivenOptions& given) {
  const std::optional<RunOrder> order = value_of<RunOrder>(given.text("sort"));
  if (!order) {
    return absl::InvalidArgumentError(absl::StrCat("--sort: there is no \"", given.text("sort"),
                                                   "\"; there are ",
                                                   absl::StrJoin(names_of<RunOrder>(), ", ")));
  }
  const std::string folder = argument.empty() ? "runs" : argument;
  const absl::StatusOr<std::vector<std::string>> paths = find_runs(folder);
  if (!paths.ok()) return paths.status();
  std::vector<RunSummary> runs;
  for (const std::string& path : *paths) {
    absl::StatusOr<RunSummary> run = summarize_run(path);
    if (run.ok()) runs.push_back(*std::move(run));  // else it was removed in between
  }
  sort_runs(runs, *order);
  if (given.has("json")) {
    print(runs_json(runs));
  } else if (runs.empty()) {
    print(absl::StrCat("there is no run in ", folder, "\n"));
  } else {
    print(runs_table(runs));
  }
  return absl::OkStatus();
}

}  // namespace

Verb runs_verb() {
  return {
      {"runs", "[DIR]", "lists the runs in a folder, by default runs"}, add_runs_options, run_runs};
}

}  // namespace qkv
