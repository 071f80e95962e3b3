#include "framework/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace qkv {
namespace {

float rounded(float value) { return static_cast<float>(BFloat16(value)); }

TEST(BFloat16Test, RoundsToTheNearest) {
  const float step = 0x1p-7f;  // between 1 and 2
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0.4f * step), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0.6f * step), 1.0f + step);
  EXPECT_EQ(rounded(-1.0f - 0.6f * step), -1.0f - step);
}

TEST(BFloat16Test, TiesGoToTheEvenNumber) {
  const float step = 0x1p-7f;
  EXPECT_EQ(rounded(1.0f + 0.5f * step), 1.0f);
  EXPECT_EQ(rounded(1.0f + 1.5f * step), 1.0f + 2 * step);
}

TEST(BFloat16Test, KeepsInfinitiesAndNaNs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(kInfinity), kInfinity);
  EXPECT_EQ(rounded(-kInfinity), -kInfinity);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  // A NaN whose upper half alone would read as an infinity.
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001u))));
  EXPECT_TRUE(std::signbit(rounded(-0.0f)));
}

}  // namespace
}  // namespace qkv
