#include "train/loop/trainer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/kernels/kernels.h"
#include "framework/nn/with_parameters.h"
#include "train/watch/finite.h"

namespace qkv {

Trainer::Trainer(const Config& config, const Dataset& dataset, Differentiate differentiate)
    : config_(config),
      dataset_(dataset),
      differentiate_(std::move(differentiate)),
      model_(make_model(config, dataset.shape())),
      parameters_(parameters(model_)),
      optimizer_(make_optimizer(config.optimizer, parameters_)) {
  if (!differentiate_) {
    differentiate_ = [](Trainer&, const ShardedBatch& batch) { return batch.differentiate_all(); };
  }
  if (config.train.average == 0) return;
  optimizer_->keep_averages(config.train.average);
  averaged_ = with_parameters(model_, optimizer_->averages());
}

absl::StatusOr<Evaluation> Trainer::evaluate(Split split, const std::stop_token& stop,
                                             const TellProgress& tell) {
  release_cached_memory();  // the arrays of a step have other sizes
  absl::StatusOr<Evaluation> evaluation = qkv::evaluate(
      evaluated_model(), dataset_, split, config_.train.validation_batch_size(), stop, tell);
  release_cached_memory();
  return evaluation;
}

Batch Trainer::next_batch() const {
  return in_section(
      "data", [&] { return dataset_.training_batch(steps_made(), config_.train.batch_size); });
}

ShardedBatch Trainer::sharded(const Batch& batch) const {
  return {config_, model_, parameters_, batch, steps_made()};
}

BatchGradients Trainer::differentiate(const Batch& batch) const {
  return sharded(batch).differentiate_all();
}

std::string Trainer::first_not_finite() const {
  for (const NamedParameter& p : parameters_) {
    if (!kernels::all_finite(p.tensor.array())) return p.name;
  }
  for (const NamedState& state : optimizer_->state()) {
    if (!kernels::all_finite(state.array)) return state.name;
  }
  return "";
}

std::vector<double> squares_of(const std::vector<Tensor>& gradients) {
  const ObservedSection section("gradient norm");
  std::vector<double> sums;
  for (const Tensor& gradient : gradients) {
    sums.push_back(static_cast<double>(kernels::sum_of_squares(gradient.array())));
  }
  return sums;
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
  return data_loss("step ", steps_made() + 1, ": ",
                   std::isfinite(loss) ? absl::StrCat("the gradient's norm is ", grad_norm)
                                       : absl::StrCat("the loss is ", loss),
                   ", not a finite number; ", culprit, "; nothing was updated. ",
                   advice_for_blow_up(config_, steps_made()));
}

}  // namespace qkv
