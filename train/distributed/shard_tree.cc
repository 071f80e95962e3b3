#include "train/distributed/shard_tree.h"

namespace qkv {
namespace {

int64_t middle(ShardRange tree) { return (tree.begin + tree.end) / 2; }

void collect(ShardRange tree, ShardRange range, std::vector<ShardRange>& found) {
  if (tree.end <= range.begin || range.end <= tree.begin) return;
  if (range.begin <= tree.begin && tree.end <= range.end) {
    found.push_back(tree);
    return;
  }
  collect({tree.begin, middle(tree)}, range, found);
  collect({middle(tree), tree.end}, range, found);
}

}  // namespace

ShardRange shards_of_rank(int64_t shards, int64_t rank, int64_t ranks) {
  return {shards * rank / ranks, shards * (rank + 1) / ranks};
}

std::vector<ShardRange> subtrees(int64_t shards, ShardRange range) {
  std::vector<ShardRange> found;
  collect({0, shards}, range, found);
  return found;
}

int64_t sums_after(ShardRange tree, ShardRange part) {
  int64_t count = 0;
  while (tree != part) {
    count += tree.end == part.end;
    const int64_t m = middle(tree);
    tree = part.begin < m ? ShardRange{tree.begin, m} : ShardRange{m, tree.end};
  }
  return count;
}

}  // namespace qkv
