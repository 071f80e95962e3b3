#include "train/run/trainer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"
#include "framework/optim/schedule.h"
#include "train/run/batch_loss.h"
#include "train/run/experiment.h"
#include "train/run/finite.h"
#include "train/run/measure_detail.h"

namespace qkv {
namespace {

int64_t count_targets(const Array& targets) {
  const int64_t* begin = targets.data<int64_t>();
  return targets.size() - std::count(begin, begin + targets.size(), kIgnoredTarget);
}

Batch rows(const Batch& batch, int64_t first, int64_t count) {
  const auto part = [&](const Array& array) {  // [B, …] -> [count, …]
    return slice(Tensor(array), 0, first, count).array();
  };
  Batch result{.inputs = {}, .targets = part(batch.targets)};
  for (const Array& input : batch.inputs) result.inputs.push_back(part(input));
  return result;
}

}  // namespace

BatchGradients accumulate_gradients(const Model& model,
                                    const std::vector<NamedParameter>& parameters,
                                    const Batch& batch, int64_t pieces, double label_smoothing,
                                    ForwardContext& context) {
  BatchGradients result;
  result.gradients.resize(parameters.size());
  const int64_t batch_size = batch.rows();
  const int64_t targets = std::max<int64_t>(1, count_targets(batch.targets));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = batch_size * piece / pieces;
    const int64_t count = batch_size * (piece + 1) / pieces - first;
    if (count == 0) continue;
    const Tensor loss = in_section("forward", [&] {
      return batch_loss(
                 model, rows(batch, first, count),
                 {.label_smoothing = label_smoothing, .divisor = static_cast<double>(targets)},
                 context)
          .loss;
    });
    const Gradients gradients = backward(loss);
    result.loss += loss.item();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& gradient = gradients[parameters[i].tensor];
      Tensor& sum = result.gradients[i];
      sum = sum.defined() ? sum + gradient : gradient;
    }
  }
  return result;
}

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
  ForwardContext context;
  context.training = true;
  context.random =
      RandomStream(config_.seed).derive("dropout").derive(static_cast<uint64_t>(steps_made()));
  return accumulate_gradients(model_, parameters_, batch, config_.train.accumulation_steps,
                              config_.train.label_smoothing, context);
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
    const Batch examples = rows(batch, 0, detail_examples(batch.rows()));
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
