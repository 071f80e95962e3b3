#include "train/run/trainer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "framework/optim/schedule.h"
#include "train/run/experiment.h"
#include "train/run/finite.h"
#include "train/run/measure_detail.h"

namespace qkv {
Trainer::Trainer(const Config& config, const Dataset& dataset)
    : config_(config),
      dataset_(dataset),
      model_(make_model(config, dataset.shape())),
      parameters_(parameters(model_)),
      optimizer_(make_optimizer(config.optimizer, parameters_)) {
  if (config.train.average == 0) return;
  optimizer_->keep_averages(config.train.average);
  averaged_ = with_parameters(model_, optimizer_->averages());
}

Batch Trainer::next_batch() const {
  return in_section(
      "data", [&] { return dataset_.training_batch(steps_made(), config_.train.batch_size); });
}

BatchGradients Trainer::differentiate(const Batch& batch) const {
  return ShardedBatch(config_, model_, parameters_, batch, steps_made()).differentiate_all();
}

absl::StatusOr<StepResult> Trainer::step() {
  const ObservedSection section("step");
  const int64_t step = steps_made();
  const Batch batch = next_batch();
  const auto [loss, gradients] = differentiate(batch);
  const double norm = global_norm(gradients);
  if (!std::isfinite(loss) || !std::isfinite(norm)) return not_finite(batch, loss, norm);
  const double learning_rate =
      scheduled_learning_rate(config_.optimizer, step, config_.train.steps);
  StepResult result = {
      .loss = loss, .learning_rate = learning_rate, .grad_norm = norm, .tokens = batch.tokens()};
  std::optional<DetailMeter> meter;
  if (is_detailed(config_.train, step + 1)) meter.emplace(parameters_);
  optimizer_->step(gradients, learning_rate, clip_scale(norm, config_.optimizer.grad_clip));
  if (meter) {
    const Batch examples = batch_rows(batch, 0, detail_examples(batch.rows()));
    result.detail = meter->measure(gradients, model_, examples);
  }
  return result;
}

absl::Status Trainer::not_finite(const Batch& batch, double loss, double grad_norm) const {
  FiniteObserver observer;  // the step once more, with a look at every number
  const std::vector<Tensor> gradients = differentiate(batch).gradients;
  std::string first = observer.first();
  for (size_t i = 0; i < gradients.size() && first.empty(); ++i) {
    if (kernels::all_finite(gradients[i].array())) continue;
    first = absl::StrCat("the sum of the gradients of ", parameters_[i].name);
  }
  const std::string culprit =
      first.empty() ? "all its numbers are finite, but the sum of their squares is not"
                    : absl::StrCat("the first op that made such a number is ", first);
  return absl::DataLossError(
      absl::StrCat("step ", steps_made() + 1, ": ",
                   std::isfinite(loss) ? absl::StrCat("the gradient's norm is ", grad_norm)
                                       : absl::StrCat("the loss is ", loss),
                   ", not a finite number; ", culprit, "; nothing was updated. ",
                   advice_for_blow_up(config_, steps_made())));
}

}  // namespace qkv
