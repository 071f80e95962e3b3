// One step of training: a batch, its loss and gradients, their norm, and the update of the weights.

#include <cmath>
#include <numeric>

#include "framework/graph/middleware.h"
#include "framework/optim/optimizer.h"
#include "train/loop/trainer.h"
#include "train/watch/measure_detail.h"

namespace qkv {

absl::StatusOr<StepResult> Trainer::step() {
  const ObservedSection section("step");
  const int64_t step = steps_made();
  const Batch batch = next_batch();
  const BatchGradients whole = differentiate_(*this, sharded(batch));
  const std::vector<double> squares = squares_of(whole.gradients);
  const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  if (!std::isfinite(whole.loss) || !std::isfinite(norm)) {
    return not_finite(batch, whole.loss, norm);
  }

  std::optional<DetailMeter> meter;  // takes the weights before the step
  if (is_detailed(config_.train, step + 1)) meter.emplace(parameters_);
  const double learning_rate =
      scheduled_learning_rate(config_.optimizer, step, config_.train.steps);
  optimizer_->step(whole.gradients, learning_rate, clip_scale(norm, config_.optimizer.grad_clip));

  StepResult result = {.loss = whole.loss,
                       .learning_rate = learning_rate,
                       .grad_norm = norm,
                       .tokens = batch.tokens()};
  if (meter) {
    const Batch examples = batch_rows(batch, 0, detail_examples(batch.rows()));
    result.detail = meter->measure(squares, model_, examples);
  }
  return result;
}

}  // namespace qkv
