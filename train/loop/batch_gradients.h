#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "train/config/options.h"
#include "train/loop/shard_tree.h"

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

  int64_t shards() const { return config_.train.shards; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

  // The shards of a subtree, added up along it (train/loop/shard_tree.h).
  BatchGradients differentiate(ShardRange tree) const;
  BatchGradients differentiate_all() const { return differentiate({0, shards()}); }

 private:
  BatchGradients differentiate_shard(int64_t shard) const;

  const Config& config_;
  const Model& model_;
  const std::vector<NamedParameter>& parameters_;
  const Batch& batch_;
  int64_t step_;
  double targets_;  // of the whole batch that count
};

}  // namespace qkv
