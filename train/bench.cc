#include "train/bench.h"

#include <algorithm>
#include <chrono>

#include "data/dataset.h"
#include "framework/kernels/parallel.h"
#include "train/trainer.h"

namespace qkv {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

absl::StatusOr<StepTimes> measure_steps(const Config& config, int64_t steps) {
  using Clock = std::chrono::steady_clock;
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(config.data, config.seed);
  if (!dataset.ok()) return dataset.status();
  Trainer trainer(config, **dataset);

  const int64_t warm_up = (steps + 2) / 3;
  std::vector<double> milliseconds;
  int64_t tokens = 0;
  for (int64_t i = 0; i < warm_up + steps; ++i) {
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<StepResult> result = trainer.step();
    if (!result.ok()) return result.status();
    tokens = result->tokens;
    if (i < warm_up) continue;
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::sort(milliseconds);
  const double median = quantile(milliseconds, 0.5);
  return StepTimes{.lower_quartile_ms = quantile(milliseconds, 0.25),
                   .median_ms = median,
                   .upper_quartile_ms = quantile(milliseconds, 0.75),
                   .tokens_per_second = static_cast<double>(tokens) / median * 1e3,
                   .steps = steps,
                   .parameters = parameter_count(parameters(trainer.model())),
                   .threads = kernels::num_threads()};
}

}  // namespace qkv
