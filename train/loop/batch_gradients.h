#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "train/config/train_options.h"

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

// Floating-point sums depend on their order. Over the shards of a batch they are taken along one
// binary tree, whoever computes which shard: the leaves are the shards, and the subtree of shards
// [begin, end) is the sum of those of its two halves.
struct ShardRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  int64_t middle() const { return (begin + end) / 2; }
  ShardRange left() const { return {begin, middle()}; }
  ShardRange right() const { return {middle(), end}; }
  bool operator==(const ShardRange&) const = default;
};

// Part number `part` of `parts` of 0 … count - 1: as large as the others, or by one.
inline ShardRange part_of(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// The batch of one step, cut into train.shards parts of its rows. The loss and the gradient of a
// shard are functions of the weights, the step and the number of the shard, so that any process may
// compute it; each is divided by the count of targets of the whole batch.
class ShardedBatch {
 public:
  // The arguments must outlive it.
  ShardedBatch(const Config& config, const Model& model,
               const std::vector<NamedParameter>& parameters, const Batch& batch, int64_t step);

  int64_t shards() const { return config_.train.shards; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

  // The shards of a subtree, added up along it.
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
