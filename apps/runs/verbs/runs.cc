#include "apps/runs/runs_table.h"
#include "cli/kit.h"

namespace qkv {
namespace {

void add_runs_options(OptionList& options) {
  options.text("sort", "KEY", "Order: when, name, steps, loss, accuracy or time", "when");
  options.one_of("sort", names_of<RunOrder>);
  options.json("the table");
}

absl::Status run_runs(const std::string& argument, const GivenOptions& given) {
  if (absl::Status s = check_json(given, "[\n"); !s.ok()) return s;
  const std::string folder = argument.empty() ? "runs" : argument;
  const absl::StatusOr<std::vector<std::string>> paths = find_runs(folder);
  if (!paths.ok()) return paths.status();
  std::vector<RunSummary> runs;
  for (const std::string& path : *paths) {
    absl::StatusOr<RunSummary> run = summarize_run(path);
    if (run.ok()) runs.push_back(*std::move(run));  // else it was removed in between
  }
  sort_runs(runs, given.value<RunOrder>("sort"));
  const std::string text =
      runs.empty() ? absl::StrCat("there is no run in ", folder, "\n") : runs_table(runs);
  return show_or_write(given, text, runs_json(runs));
}

}  // namespace

Verb runs_verb() {
  return {
      {"runs", "[DIR]", "lists the runs in a folder, by default runs"}, add_runs_options, run_runs};
}

}  // namespace qkv
