#include <vector>

#include "apps/runs/compare_runs.h"
#include "cli/kit.h"

namespace qkv {
namespace {

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
