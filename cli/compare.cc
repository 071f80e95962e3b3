#include "cli/verbs.h"
#include "train/runs/compare_runs.h"

namespace qkv {
namespace {

void add_compare_options(OptionList& options) { options.flag("json", "Prints one JSON object"); }

absl::Status run_compare(const std::string& first, const GivenOptions& given) {
  const absl::StatusOr<RunSummary> a = summarize_run(first);
  if (!a.ok()) return a.status();
  const absl::StatusOr<RunSummary> b = summarize_run(given.arguments()[1]);
  if (!b.ok()) return b.status();
  print(given.has("json") ? comparison_json(*a, *b) : comparison_text(*a, *b));
  return absl::OkStatus();
}

}  // namespace

Verb compare_verb() {
  return {{"compare", "RUN RUN", "shows what differs between two runs"},
          add_compare_options,
          run_compare};
}

}  // namespace qkv
