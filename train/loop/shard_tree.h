#pragma once

#include <cstdint>

namespace qkv {

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

}  // namespace qkv
