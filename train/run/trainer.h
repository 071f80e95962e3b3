#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "framework/optim/optimizer.h"
#include "models/model.h"
#include "train/config/options.h"
#include "train/distributed/ranks.h"
#include "train/distributed/shared_optimizer.h"
#include "train/run/batch_gradients.h"
#include "train/run/evaluate.h"
#include "train/run/step_detail.h"

namespace qkv {

struct StepResult {
  double loss = 0;  // the mean over the batch's targets
  double learning_rate = 0;
  double grad_norm = 0;                   // before clipping
  int64_t tokens = 0;                     // that the model read
  std::optional<StepDetail> detail = {};  // where train.detail_interval is due
  bool stop = false;                      // whether a rank was asked to stop
};

// A model, its optimizer and its data, one step at a time. Step number k is a function of the
// parameters, the optimizer's state and (config, k): that is why a resumed run is bit for bit the
// uninterrupted one.
//
// Several ranks make the steps of one run together: each has a trainer, and follow() does on the
// others what rank 0 does with its own, by an order that goes before it. So rank 0 alone decides
// what is done, and its trainer is used as if there was one process.
class Trainer {
 public:
  // `dataset` and `ranks` must outlive the trainer.
  Trainer(const Config& config, const Dataset& dataset, Ranks* ranks = nullptr);

  // Before the first step, once the weights and the optimizer are what the run begins with: they
  // become those of all ranks. With one process it does nothing.
  void share();
  // What other ranks do: all that rank 0 orders, until it ends the run.
  void follow(const std::stop_token& stop);
  static void end_run(Ranks& ranks);  // on rank 0

  // Makes the next step. When the loss or the gradient is not finite, nothing is updated and the
  // Status names the step and the first op that made such a number.
  absl::StatusOr<StepResult> step(const std::stop_token& stop = {});

  // evaluate() of the model that the run comes to.
  absl::StatusOr<Evaluation> evaluate(Split split, const std::stop_token& stop,
                                      const TellProgress& tell);

  // What the next step begins with, without making it.
  Batch next_batch() const;
  BatchGradients differentiate(const Batch& batch) const;

  int64_t steps_made() const { return shared_ ? shared_->steps() : optimizer_->steps(); }
  const Model& model() const { return model_; }  // which a step trains
  // What the run comes to: the mean of its weights where train.average keeps one, else model().
  const Model& evaluated_model() const { return averaged_ ? *averaged_ : model_; }
  // Where ranks share the state, rank 0 takes it together first; it has it until the next step.
  Optimizer& optimizer();
  const Optimizer& optimizer() const { return *optimizer_; }  // of one process
  const std::vector<NamedParameter>& trained_parameters() const { return parameters_; }

 private:
  enum class Order : int64_t { kShare, kStep, kEvaluate, kGatherState, kGatherAverages, kEnd };
  struct OrderMessage {
    Order order;
    int64_t detail = 0;  // of kEvaluate: the split
  };
  using Sums = SharedOptimizer::Sums;

  bool is_shared() const { return ranks_ && ranks_->size() > 1; }
  bool leads() const { return !ranks_ || ranks_->leads(); }
  // Tells the others to take part in it. Until end_order() they hear no other order.
  void order(Order order, int64_t detail = 0);
  void end_order();
  std::unique_ptr<Optimizer> new_optimizer(std::vector<NamedParameter> parameters) const;
  Sums add_up(const Batch& batch, bool stop, std::vector<Tensor>& gradients);
  void gather_averages();
  absl::Status not_finite(const Batch& batch, double loss, double grad_norm) const;

  Config config_;
  const Dataset& dataset_;
  Model model_;
  std::vector<NamedParameter> parameters_;
  Ranks* ranks_;
  std::unique_ptr<Optimizer> optimizer_;     // of all parameters
  std::unique_ptr<SharedOptimizer> shared_;  // from share() on, in its place
  std::vector<Tensor> averages_;             // the parameters of averaged_
  std::optional<Model> averaged_;
};

}  // namespace qkv
