#include "train/run/step_forecast.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "framework/core/dtype.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/storage.h"
#include "framework/kernels/product_log.h"
#include "train/run/experiment.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

// What stays between steps, of each parameter: the weight, the two means of Adam or the velocity,
// and the mean of train.average.
uint64_t bytes_kept(const Config& config, uint64_t bytes) {
  const uint64_t of_optimizer = config.optimizer.kind == OptimizerKind::kSgd ? 1 : 2;
  return (1 + of_optimizer + (config.train.average > 0 ? 1 : 0)) * bytes;
}

struct SmallBatch {
  uint64_t peak = 0;  // beyond what was in use before
  double flops = 0;
};

SmallBatch differentiate_few(const Model& model, const Config& config, const Dataset& dataset,
                             int64_t examples) {
  const uint64_t before = allocator_statistics().bytes_in_use;
  reset_peak_bytes_in_use();
  const kernels::ProductLog products;
  ForwardContext context;
  context.training = true;
  accumulate_gradients(model, parameters(model), dataset.training_batch(0, examples), 1,
                       config.train.label_smoothing, context);
  return {allocator_statistics().peak_bytes_in_use - before, products.flops()};
}

}  // namespace

StepForecast foresee_step(const Config& config, const Dataset& dataset, uint64_t available) {
  const uint64_t bytes = static_cast<uint64_t>(count_parameters(config, dataset.shape())) *
                         dtype_bytes(precision_dtype(config.train));
  const uint64_t kept = bytes_kept(config, bytes);
  // On their way along the tree of the shards, as many sums wait as it has levels.
  const uint64_t waiting =
      bytes * static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(config.train.shards - 1)));
  StepForecast forecast = {.parameters = kept + bytes + waiting};
  if (forecast.parameters > available) {
    forecast.is_whole = false;
    return forecast;
  }
  // Sizes alone count. Zeros take no time to make, and the optimizer works in place.
  Config zeros = config;
  zeros.model.init_std = 0;
  const Model model = make_model(zeros, dataset.shape());
  const int64_t pieces = config.train.accumulation_steps * config.train.shards;
  const int64_t examples = (config.train.batch_size + pieces - 1) / pieces;
  const int64_t few = 4, more = std::min<int64_t>(examples, 2 * few);
  const auto [most, flops] = differentiate_few(model, config, dataset, more);
  uint64_t total = kept + waiting + most;
  if (examples > more) {
    const uint64_t least = differentiate_few(model, config, dataset, few).peak;
    total += (most - std::min(most, least)) / static_cast<uint64_t>(more - few) *
             static_cast<uint64_t>(examples - more);
  }
  release_cached_memory();
  forecast.flops = flops * static_cast<double>(config.train.batch_size) / static_cast<double>(more);
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
