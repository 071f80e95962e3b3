#include "train/run/trainer.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/storage.h"
#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "framework/nn/module.h"
#include "framework/optim/schedule.h"
#include "train/run/experiment.h"
#include "train/run/finite.h"
#include "train/run/measure_detail.h"

namespace qkv {
namespace {

// Messages move on with every op that was computed.
class PollingObserver final : public Observer {
 public:
  explicit PollingObserver(GradientExchange& exchange) : exchange_(exchange) {}
  void after_forward(const std::shared_ptr<Op>&, TensorSpan, const Tensor&) override {
    exchange_.poll();
  }

 private:
  GradientExchange& exchange_;
};

}  // namespace

Trainer::Trainer(const Config& config, const Dataset& dataset, Ranks* ranks)
    : config_(config),
      dataset_(dataset),
      model_(make_model(config, dataset.shape())),
      parameters_(parameters(model_)),
      ranks_(ranks) {
  if (leads()) optimizer_ = new_optimizer(parameters_);
  if (config.train.average == 0) return;
  if (optimizer_) {
    averages_ = optimizer_->averages();
  } else {
    for (const NamedParameter& p : parameters_) averages_.emplace_back(p.tensor.array().copy());
  }
  averaged_ = with_parameters(model_, averages_);
}

std::unique_ptr<Optimizer> Trainer::new_optimizer(std::vector<NamedParameter> parameters) const {
  std::unique_ptr<Optimizer> made = make_optimizer(config_.optimizer, std::move(parameters));
  if (config_.train.average > 0) made->keep_averages(config_.train.average);
  return made;
}

void Trainer::order(Order order, int64_t detail) {
  if (!is_shared() || !leads()) return;
  OrderMessage message = {order, detail};
  ranks_->broadcast(bytes_of(std::span(&message, 1)));
  ranks_->order_is_running = true;
}

void Trainer::end_order() {
  if (ranks_) ranks_->order_is_running = false;
}

void Trainer::share() {
  if (!is_shared() || shared_) return;
  order(Order::kShare);
  shared_ = std::make_unique<SharedOptimizer>(
      parameters_, [this](auto some) { return new_optimizer(std::move(some)); },
      config_.train.shards, optimizer_.get(), *ranks_);
  optimizer_.reset();
  end_order();
}

void Trainer::follow(const std::stop_token& stop) {
  while (true) {
    OrderMessage message = {Order::kEnd};
    ranks_->broadcast(bytes_of(std::span(&message, 1)));
    switch (message.order) {
      case Order::kShare:
        share();
        break;
      case Order::kStep:
        static_cast<void>(step(stop));  // rank 0 says what is wrong with it
        break;
      case Order::kEvaluate:
        static_cast<void>(evaluate(static_cast<Split>(message.detail), {}, tell_nobody));
        break;
      case Order::kGatherState:
        shared_->gather_state(nullptr);
        break;
      case Order::kGatherAverages:
        gather_averages();
        break;
      case Order::kEnd:
        return;
    }
  }
}

void Trainer::end_run(Ranks& ranks) {
  OrderMessage message = {Order::kEnd};
  if (ranks.leads()) ranks.broadcast(bytes_of(std::span(&message, 1)));
}

Optimizer& Trainer::optimizer() {
  if (!shared_ || optimizer_) return *optimizer_;
  order(Order::kGatherState);
  optimizer_ = new_optimizer(parameters_);
  shared_->gather_state(optimizer_.get());
  end_order();
  gather_averages();
  return *optimizer_;
}

void Trainer::gather_averages() {
  if (!shared_ || averages_.empty()) return;
  order(Order::kGatherAverages);
  shared_->gather_averages(averages_);
  end_order();
}

absl::StatusOr<Evaluation> Trainer::evaluate(Split split, const std::stop_token& stop,
                                             const TellProgress& tell) {
  share();
  if (leads()) gather_averages();
  order(Order::kEvaluate, static_cast<int64_t>(split));
  release_cached_memory();  // the arrays of a step have other sizes
  absl::StatusOr<Evaluation> evaluation =
      qkv::evaluate(evaluated_model(), dataset_, split, config_.train.validation_batch_size(), stop,
                    tell, ranks_);
  release_cached_memory();
  end_order();
  return evaluation;
}

Batch Trainer::next_batch() const {
  return in_section(
      "data", [&] { return dataset_.training_batch(steps_made(), config_.train.batch_size); });
}

BatchGradients Trainer::differentiate(const Batch& batch) const {
  return ShardedBatch(config_, model_, parameters_, batch, steps_made()).differentiate_all();
}

Trainer::Sums Trainer::add_up(const Batch& batch, bool stop, std::vector<Tensor>& gradients) {
  if (!shared_) {
    Sums sums = {.squares = {}, .stop = stop};
    auto whole = differentiate(batch);
    sums.loss = whole.loss;
    gradients = std::move(whole.gradients);
    const ObservedSection section("gradient norm");
    for (const Tensor& gradient : gradients) {
      sums.squares.push_back(static_cast<double>(kernels::sum_of_squares(gradient.array())));
    }
    return sums;
  }
  optimizer_.reset();
  GradientExchange& exchange = shared_->exchange();
  const ShardedBatch shards(config_, model_, parameters_, batch, steps_made());
  std::vector<double> losses;
  exchange.begin();
  {
    const PollingObserver observer(exchange);
    const auto [first, end] = exchange.shards_of_this_rank();
    for (int64_t shard = first; shard < end; ++shard) {
      losses.push_back(shards.differentiate(shard, /*early=*/true, [&](size_t i, Tensor gradient) {
        exchange.add(shard, i, std::move(gradient));
      }));
    }
  }
  return shared_->sums(losses, stop);
}

absl::StatusOr<StepResult> Trainer::step(const std::stop_token& stop) {
  share();
  order(Order::kStep);
  const ObservedSection section("step");
  const int64_t step = steps_made();
  const Batch batch = next_batch();
  std::vector<Tensor> gradients;
  const Sums sums = add_up(batch, stop.stop_requested(), gradients);
  const double norm = std::sqrt(std::accumulate(sums.squares.begin(), sums.squares.end(), 0.0));
  if (!std::isfinite(sums.loss) || !std::isfinite(norm)) {
    end_order();
    if (!leads()) return absl::DataLossError("not a finite number");
    return not_finite(batch, sums.loss, norm);
  }
  const double learning_rate =
      scheduled_learning_rate(config_.optimizer, step, config_.train.steps);
  StepResult result = {.loss = sums.loss,
                       .learning_rate = learning_rate,
                       .grad_norm = norm,
                       .tokens = batch.tokens(),
                       .stop = sums.stop};
  std::optional<DetailMeter> meter;
  if (leads() && is_detailed(config_.train, step + 1)) meter.emplace(parameters_);
  const double scale = clip_scale(norm, config_.optimizer.grad_clip);
  if (shared_) {
    shared_->step(learning_rate, scale);
    end_order();
  } else {
    optimizer_->step(gradients, learning_rate, scale);
  }
  if (meter) {
    const Batch examples = batch_rows(batch, 0, detail_examples(batch.rows()));
    result.detail = meter->measure(sums.squares, model_, examples);
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
