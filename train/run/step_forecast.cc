#include "train/run/step_forecast.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/dtype.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/storage.h"
#include "framework/kernels/product_log.h"
#include "train/run/experiment.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

// Weights, gradients, and what the optimizer keeps of each: the two means of Adam, or a momentum.
uint64_t bytes_of_parameters(const Config& config, const Dataset& dataset) {
  const bool has_two_means = config.optimizer.kind != OptimizerKind::kSgd;
  const uint64_t kept = has_two_means ? 2 : config.optimizer.momentum > 0 ? 1 : 0;
  const auto count = static_cast<uint64_t>(count_parameters(config, dataset.shape()));
  return (2 + kept) * count * dtype_bytes(precision_dtype(config.train));
}

struct SmallStep {
  uint64_t peak = 0;  // beyond what was in use before
  double flops = 0;
};

SmallStep make_small_step(Config config, const Dataset& dataset, int64_t examples) {
  config.train.batch_size = examples;
  config.train.accumulation_steps = 1;
  const uint64_t before = allocator_statistics().bytes_in_use;
  Trainer trainer(config, dataset);
  reset_peak_bytes_in_use();
  const kernels::ProductLog products;
  trainer.step().IgnoreError();  // what is wrong with it, the training says
  return {allocator_statistics().peak_bytes_in_use - before, products.flops()};
}

}  // namespace

StepForecast foresee_step(const Config& config, const Dataset& dataset, uint64_t available) {
  StepForecast forecast = {.parameters = bytes_of_parameters(config, dataset)};
  if (forecast.parameters > available) {
    forecast.is_whole = false;
    return forecast;
  }
  const int64_t pieces = config.train.accumulation_steps;
  const int64_t examples = (config.train.batch_size + pieces - 1) / pieces;
  const int64_t few = std::min<int64_t>(examples, 4), more = std::min<int64_t>(examples, 8);
  const uint64_t least = make_small_step(config, dataset, few).peak;
  const auto [most, flops] = make_small_step(config, dataset, more);
  release_cached_memory();
  forecast.flops = flops * static_cast<double>(config.train.batch_size) / static_cast<double>(more);
  const uint64_t each =
      more > few ? (most - std::min(most, least)) / static_cast<uint64_t>(more - few) : 0;
  const uint64_t total = most + each * static_cast<uint64_t>(examples - more);
  forecast.batch = total - std::min(total, forecast.parameters);
  return forecast;
}

std::string describe(const StepForecast& forecast) {
  return absl::StrCat("about ", describe_bytes(forecast.total()), " of memory");
}

absl::Status check_memory(const StepForecast& forecast, uint64_t available) {
  if (forecast.total() <= available) return absl::OkStatus();
  const std::string parameters =
      absl::StrCat(describe_bytes(forecast.parameters),
                   " for the parameters, their gradients and the optimizer");
  if (!forecast.is_whole) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this training needs ", parameters, " alone, but only ", describe_bytes(available),
        " are free; a smaller model.d_model, model.d_ff or model.num_layers needs less"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "this training needs ", describe(forecast), ", but only ", describe_bytes(available),
      " are free: ", parameters, ", ", describe_bytes(forecast.batch),
      " for a batch; a smaller train.batch_size or more train.accumulation_steps need less for a "
      "batch, a shorter data.length or a smaller model less for each example"));
}

}  // namespace qkv
