#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "train/config/options.h"

namespace qkv {

struct BatchGradients {
  double loss = 0;
  std::vector<Tensor> gradients;  // by parameter
};

// The gradient of the mean loss over the whole batch, made in `pieces` equal parts of its rows so
// that less memory is needed. Each piece is divided by the count of the whole, so the parts add up
// to the large batch's gradient, ignored targets or not.
BatchGradients accumulate_gradients(const Model& model,
                                    const std::vector<NamedParameter>& parameters,
                                    const Batch& batch, int64_t pieces, double label_smoothing,
                                    ForwardContext& context);

Batch batch_rows(const Batch& batch, int64_t first, int64_t count);

// The batch of one step, cut into train.shards parts of its rows. The loss and the gradient of a
// shard are functions of the weights, the step and the number of the shard, so that any process may
// compute it; each is divided by the count of targets of the whole batch.
class ShardedBatch {
 public:
  // What is referred to must outlive it.
  ShardedBatch(const Config& config, const Model& model,
               const std::vector<NamedParameter>& parameters, const Batch& batch, int64_t step);

  // Returns the loss of a shard. `take` is given the gradient of each parameter by its number: at
  // the end, or, where `early` says so, in the midst of the walk, as soon as it is complete.
  using Take = std::function<void(size_t parameter, Tensor gradient)>;
  double differentiate(int64_t shard, bool early, const Take& take) const;

  // All shards, added up along their tree (train/distributed/shard_tree.h).
  BatchGradients differentiate_all() const;

 private:
  const Config& config_;
  const Model& model_;
  const std::vector<NamedParameter>& parameters_;
  const Batch& batch_;
  int64_t step_;
  double targets_;  // of the whole batch that count
};

}  // namespace qkv
