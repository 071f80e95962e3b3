#include "train/bench/bench_shapes.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

TEST(RandomTokensTest, AreAFunctionOfTheSeedAndTheStep) {
  const auto tokens = [](uint64_t seed, int64_t step) {
    return random_tokens(5, seed)->training_batch(step, 3).inputs[0].to_vector();
  };
  EXPECT_EQ(tokens(1, 0), tokens(1, 0));
  EXPECT_NE(tokens(1, 0), tokens(1, 1));
  EXPECT_NE(tokens(1, 0), tokens(2, 0));
}

}  // namespace
}  // namespace qkv
