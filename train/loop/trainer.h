#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "framework/optim/optimizer.h"
#include "models/model.h"
#include "train/config/train_options.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/folder/metrics.h"
#include "train/loop/batch_gradients.h"

namespace qkv {

struct StepResult {
  double loss = 0;  // the mean over the batch's targets
  double learning_rate = 0;
  double grad_norm = 0;                   // before clipping
  int64_t tokens = 0;                     // that the model read
  std::optional<StepDetail> detail = {};  // where train.detail_interval is due
};

// A model, its optimizer and its data, one step at a time. Step number k is a function of the
// parameters, the optimizer's state and (config, k): that is why a resumed run is bit for bit the
// uninterrupted one.
class Trainer {
 public:
  // Computes the gradients, with the result of batch.differentiate_all().
  using Differentiate = std::function<BatchGradients(Trainer&, const ShardedBatch& batch)>;

  // `dataset` must outlive the trainer. Without `differentiate` it computes gradients itself.
  Trainer(const Config& config, const Dataset& dataset, Differentiate differentiate = {});

  // The next step is made from these weights; the others stay.
  void begin_with(const FirstWeights& weights);

  // Makes the next step. When the loss or the gradient is not finite, nothing is updated and the
  // Status names the step and the first op that made such a number.
  absl::StatusOr<StepResult> step();

  // evaluate() of evaluated_model().
  absl::StatusOr<Evaluation> evaluate(Split split, const std::stop_token& stop,
                                      const TellProgress& tell);

  // The batch of the next step, without making the step.
  Batch next_batch() const;
  BatchGradients differentiate(const Batch& batch) const;

  int64_t steps_made() const { return optimizer_->steps(); }
  const Model& model() const { return model_; }  // which a step trains
  // The result of the run: the mean of its weights where train.average keeps one, else model().
  const Model& evaluated_model() const { return averaged_ ? *averaged_ : model_; }
  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  // A parameter, or an optimizer's state of one; "": all are finite.
  std::string first_not_finite() const;
  const std::vector<NamedParameter>& trained_parameters() const { return parameters_; }

 private:
  ShardedBatch sharded(const Batch& batch) const;
  absl::Status not_finite(const Batch& batch, double loss, double grad_norm) const;

  Config config_;
  const Dataset& dataset_;
  Differentiate differentiate_;
  Model model_;
  std::vector<NamedParameter> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Model> averaged_;
};

// The sum of the squares of each, as the section "gradient norm".
std::vector<double> squares_of(const std::vector<Tensor>& gradients);

}  // namespace qkv
