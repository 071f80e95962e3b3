#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/cluster/gradient_exchange.h"

namespace qkv {
namespace {

using testing::ElementsAre;

// The order in which a tree is added up, of which these subtrees are known, as a formula.
std::string formula(ShardRange tree, const std::vector<std::pair<ShardRange, std::string>>& known) {
  for (const auto& [subtree, sum] : known) {
    if (subtree == tree) return sum;
  }
  if (tree.size() == 1) return known.empty() ? std::to_string(tree.begin) : "unknown";
  return "(" + formula(tree.left(), known) + "+" + formula(tree.right(), known) + ")";
}

// The same of `ranks` processes that share the shards.
std::string formula(int64_t shards, int64_t ranks) {
  std::vector<std::pair<ShardRange, std::string>> known;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (const ShardRange tree : subtrees(shards, part_of(shards, rank, ranks))) {
      known.emplace_back(tree, formula(tree, {}));
    }
  }
  return formula({0, shards}, known);
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
      EXPECT_EQ(subtrees(8, part_of(8, rank, ranks)).size(), 1u);
    }
  }
  EXPECT_THAT(subtrees(8, {2, 5}), ElementsAre(ShardRange{2, 4}, ShardRange{4, 5}));
}

}  // namespace
}  // namespace qkv
