#include "train/distributed/shard_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace qkv {
namespace {

using testing::ElementsAre;

std::string bracket(const std::string& a, const std::string& b) { return "(" + a + "+" + b + ")"; }

// The order in which `ranks` processes add up the shards, as a formula.
std::string formula(int64_t shards, int64_t ranks) {
  TreeSum<std::string> whole({0, shards});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (const ShardRange tree : subtrees(shards, shards_of_rank(shards, rank, ranks))) {
      TreeSum<std::string> part(tree);
      for (int64_t shard = tree.begin; shard < tree.end; ++shard) {
        part.add({shard, shard + 1}, std::to_string(shard), bracket);
      }
      whole.add(tree, part.sum(), bracket);
    }
  }
  return whole.sum();
}

TEST(ShardTreeTest, ATreeIsSplitInTheMiddle) {
  EXPECT_EQ(formula(1, 1), "0");
  EXPECT_EQ(formula(4, 1), "((0+1)+(2+3))");
  EXPECT_EQ(formula(5, 1), "((0+1)+(2+(3+4)))");
}

TEST(ShardTreeTest, TheOrderOfSumsIsThatOfOneProcess) {
  for (int64_t shards = 1; shards <= 20; ++shards) {
    for (int64_t ranks = 2; ranks <= shards; ++ranks) {
      EXPECT_EQ(formula(shards, ranks), formula(shards, 1)) << shards << " " << ranks;
    }
  }
}

TEST(ShardTreeTest, RanksThatArePowersOfTwoHaveOneSubtreeEach) {
  for (const int64_t ranks : {1, 2, 4, 8}) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(subtrees(8, shards_of_rank(8, rank, ranks)).size(), 1u);
    }
  }
  EXPECT_THAT(subtrees(8, {2, 5}), ElementsAre(ShardRange{2, 4}, ShardRange{4, 5}));
}

}  // namespace
}  // namespace qkv
