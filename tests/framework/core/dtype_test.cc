#include "framework/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/framework/testing.h"

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

TEST(DTypeTest, HasANameAndASize) {
  EXPECT_EQ(dtype_name(DType::bf16), "bf16");
  EXPECT_EQ(dtype_name(DType::boolean), "bool");
  EXPECT_EQ(dtype_bytes(DType::f64), 8u);
  EXPECT_EQ(dtype_bytes(DType::bf16), 2u);
  EXPECT_EQ(dtype_bytes(DType::boolean), 1u);
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i64));
}

TEST(DTypeTest, ArithmeticIsForF32AndF64) {
  const auto size = [](DType dtype) {
    return dispatch_floating("exp", dtype, [](auto zero) { return sizeof(zero); });
  };
  EXPECT_EQ(size(DType::f32), 4u);
  EXPECT_EQ(size(DType::f64), 8u);
  EXPECT_EQ(error_of([&] { size(DType::bf16); }),
            "exp: needs f32 or f64, not bf16; cast it to f32 first");
  EXPECT_EQ(error_of([&] { size(DType::i64); }), "exp: needs f32 or f64, not i64");
}

}  // namespace
}  // namespace qkv
