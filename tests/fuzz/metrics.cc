#include "train/folder/metrics.h"

#include <algorithm>

#include "framework/io/files.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

void require_same_from_its_own_json(const Metrics& metrics) {
  const std::string json = metrics_to_json(metrics);
  const absl::StatusOr<Metrics> again = metrics_from_json(json);
  require(again.ok(), "metrics that were written can be read", json);
  require(metrics_to_json(*again) == json, "metrics are the same when read again", json);
}

// Cutting after `last_step` leaves a beginning of the file: whole lines of no later step.
void require_good_cut(const ScratchFile& file, std::string_view input, int64_t last_step) {
  const absl::Status cut = cut_metrics(file.path(), last_step);
  const std::string left = *read_regular_file(file.path());
  if (!cut.ok()) {
    require_good_message(cut, {file.path() + ":"});
    require(left == input, "a cut that fails leaves the file alone");
    return;
  }
  require(input.starts_with(left) && (left.empty() || left.back() == '\n'),
          "a cut leaves whole lines", left);
  if (left == input) return;
  const absl::StatusOr<std::vector<Metrics>> kept = read_metrics(file.path());
  require(kept.ok(), "what a cut leaves can be read", kept.status().ToString());
  require(std::ranges::all_of(*kept, [&](const Metrics& m) { return m.step <= last_step; }),
          "a cut leaves no later step");
}

// A metrics.jsonl, read, and cut for a resume after one of its steps.
void fuzz_metrics(std::string_view input) {
  static const ScratchFile file("metrics.jsonl");
  file.write(input);
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(file.path());
  if (!lines.ok()) require_good_message(lines.status(), {file.path() + ":"});
  int64_t last_step = 100;
  if (lines.ok() && !lines->empty()) {
    require(std::ranges::all_of(*lines, [](const Metrics& m) { return m.step >= 0; }),
            "a step is a number of steps");
    require_same_from_its_own_json(lines->back());
    last_step = (*lines)[lines->size() / 2].step;
  }
  require_good_cut(file, input, last_step);
}
const bool kMetricsIsAdded = add_fuzz_target({"metrics", fuzz_metrics});

}  // namespace
}  // namespace qkv
