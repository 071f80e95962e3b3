#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace qkv {

// Floating-point sums depend on their order. Over the shards of a batch they are taken along one
// binary tree, whoever computes which shard: the leaves are the shards, and the subtree of shards
// [begin, end) is the sum of those of [begin, middle) and [middle, end), middle = (begin + end)
// / 2.
struct ShardRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const ShardRange&) const = default;
};

// The shards of rank `rank` of `ranks`: as many as the others have, or one more or less.
ShardRange shards_of_rank(int64_t shards, int64_t rank, int64_t ranks);

// The fewest subtrees of the tree of `shards` leaves that make up `range`, in order.
std::vector<ShardRange> subtrees(int64_t shards, ShardRange range);

// How many sums of `tree` are complete once its `part`, one of its subtrees, is known and all that
// comes before it.
int64_t sums_after(ShardRange tree, ShardRange part);

// Adds up the parts of a tree, which come in order.
template <class T>
class TreeSum {
 public:
  explicit TreeSum(ShardRange tree) : tree_(tree) {}

  // `plus(a, b)` adds b to a.
  template <class Plus>
  void add(ShardRange part, T value, Plus plus) {
    for (int64_t left = sums_after(tree_, part); left > 0; --left) {
      value = plus(std::move(waiting_.back()), std::move(value));
      waiting_.pop_back();
    }
    waiting_.push_back(std::move(value));
  }

  // After the last part.
  T& sum() { return waiting_.front(); }

 private:
  ShardRange tree_;
  std::vector<T> waiting_;  // sums of the left, whose right side is still to come
};

}  // namespace qkv
