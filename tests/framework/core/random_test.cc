#include "framework/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

// The known answers that Salmon et al. publish with their Random123 library.
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreamTest, ANumberDependsOnSeedStreamAndPositionAlone) {
  RandomStream stream(7);
  const uint64_t first = stream.bits();
  const uint64_t second = stream.bits();
  EXPECT_EQ(first, RandomStream(7).bits_at(0));
  EXPECT_EQ(second, RandomStream(7).bits_at(1));
  EXPECT_EQ(RandomStream(0).bits_at(0), 0xe169c58d6627e8d5);  // two of each published answer
  EXPECT_EQ(RandomStream(0).bits_at(1), 0x9b00dbd8bc57ac4c);
  EXPECT_NE(first, second);
  EXPECT_NE(first, RandomStream(8).bits_at(0));
  EXPECT_NE(first, RandomStream(7).derive("dropout").bits_at(0));
  EXPECT_NE(RandomStream(7).derive("a").bits_at(0), RandomStream(7).derive("b").bits_at(0));
}

TEST(RandomStreamTest, NormalNumbersHaveMeanZeroAndVarianceOne) {
  RandomStream stream(1);
  constexpr int kCount = 100000;
  double sum = 0, sum_of_squares = 0, sum_of_fourths = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal();
    sum += x;
    sum_of_squares += x * x;
    sum_of_fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 / std::sqrt(kCount));
  EXPECT_NEAR(sum_of_squares / kCount, 1.0, 5.0 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(sum_of_fourths / kCount, 3.0, 5.0 * std::sqrt(96.0 / kCount));
}

TEST(RandomStreamTest, BelowIsUniform) {
  RandomStream stream(3);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) ++counts[stream.below(6)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 5.0 / 6.0));
  expect_error("random: there is no number below 0", [&] { stream.below(0); });
}

TEST(RandomStreamTest, AShuffleGivesEveryOrderAsOften) {
  RandomStream stream(4);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 60000; ++i) {
    std::vector<int> items = {1, 2, 3};
    shuffle(items, stream);
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 5.0 / 6.0));
  }
}

}  // namespace
}  // namespace qkv
