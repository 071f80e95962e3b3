#pragma once

#include <cstdint>
#include <vector>

#include "apps/cluster/ranks.h"
#include "train/loop/batch_gradients.h"

namespace qkv {

// The fewest subtrees of the tree of `shards` leaves that make up `range`, in order.
std::vector<ShardRange> subtrees(int64_t shards, ShardRange range);

// The result of all ranks together.
struct SharedGradients {
  BatchGradients whole;  // the bits of batch.differentiate_all()
  bool stop = false;     // whether a rank was asked to stop
};

// Each rank adds up its subtrees of the shards, and sends every other one those numbers of them
// that the other owns; the owner of numbers adds them up along the tree, and sends the sums to all.
// Where each rank has one subtree (1, 2, 4, 8 ranks share 8 shards), less cannot be sent.
SharedGradients differentiate_together(const ShardedBatch& batch, bool stop, Ranks& ranks);

}  // namespace qkv
