#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/autograd/backward.h"
#include "framework/core/memory/storage.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kHeads = 2, kWidth = 8;

Initializer numbers() { return {RandomStream(1), DType::f64}; }

Tensor zeros_of_width() { return Tensor(Array::full({1, 1, 1, kWidth}, DType::f64, 0)); }

double product(const Tensor& a, const Tensor& b) { return sum(a * b).item(); }

TEST(AttentionPositionTest, ARotaryProductKnowsTheDistanceAlone) {
  const Tensor q = normal_like(zeros_of_width(), 1), k = normal_like(zeros_of_width(), 2);
  const auto score = [&](int64_t query, int64_t key) {
    return product(rotary(q, query), rotary(k, key));
  };
  EXPECT_NEAR(score(5, 3), score(105, 103), 1e-12);
  EXPECT_NEAR(score(3, 5), score(103, 105), 1e-12);
  EXPECT_GT(std::abs(score(5, 3) - score(3, 5)), 1e-3);
  EXPECT_GT(std::abs(score(5, 3) - score(5, 2)), 1e-3);
  EXPECT_NEAR(score(7, 7), product(q, k), 1e-12);
}

TEST(AttentionPositionTest, AlibiFallsWithTheDistanceByASlopeForEachHead) {
  Initializer init = numbers();
  const AttentionPosition position(init, Position::kAlibi, kHeads, 4, /*both_sides=*/true);
  const Tensor bias =
      bias_of_pairs(position.bias(kHeads, /*first_query=*/1, 2, 4, DType::f64), 2, 4);
  // Slopes 2^-4 and 2^-8; queries at 1 and 2.
  const double a = -1.0 / 16, b = -1.0 / 256;
  EXPECT_EQ(bias.to_vector(), (std::vector<double>{a, 0, a, 2 * a, 2 * a, a, 0, a,  //
                                                   b, 0, b, 2 * b, 2 * b, b, 0, b}));
}

// What get_slopes(12) of the paper's code gives: the slopes of 8 heads, then every second of 16.
TEST(AttentionPositionTest, InterpolatedSlopesOfTwelveHeadsAreThoseOfThePapersCode) {
  const std::vector<double> slopes = alibi_slopes(12, AlibiSlopes::kInterpolated);
  ASSERT_EQ(slopes.size(), 12u);
  for (size_t h = 0; h < 8; ++h) EXPECT_EQ(slopes[h], std::exp2(-1.0 - static_cast<double>(h)));
  for (size_t h = 8; h < 12; ++h) {
    EXPECT_NEAR(slopes[h], std::pow(2.0, 7.5 - static_cast<double>(h)), 1e-16);
  }
}

TEST(AttentionPositionTest, GeometricSlopesEndAtTheSameSlopeWhateverTheNumberOfHeads) {
  const std::vector<double> slopes = alibi_slopes(12, AlibiSlopes::kGeometric);
  ASSERT_EQ(slopes.size(), 12u);
  for (size_t h = 0; h < 12; ++h) {
    EXPECT_NEAR(slopes[h], std::pow(2.0, -2.0 / 3.0 * static_cast<double>(h + 1)), 1e-16);
  }
  EXPECT_EQ(slopes.back(), 1.0 / 256);
}

TEST(AttentionPositionTest, TheBiasHasTheSlopesThatAreAskedFor) {
  Initializer init = numbers();
  AttentionPosition position(init, Position::kAlibi, 3, 2, /*both_sides=*/true);
  position.slopes = AlibiSlopes::kInterpolated;
  const std::vector<double> slopes = {1.0 / 16, 1.0 / 256, 1.0 / 4};
  // Queries and keys at most 1 apart.
  const std::vector<double> bias = position.bias(3, 0, 2, 2, DType::f64).to_vector();
  const auto head_size = static_cast<ptrdiff_t>(bias.size() / 3);
  for (ptrdiff_t h = 0; h < 3; ++h) {
    const auto first = bias.begin() + h * head_size;
    EXPECT_EQ(*std::min_element(first, first + head_size), -slopes[static_cast<size_t>(h)]);
  }
}

TEST(AttentionPositionTest, ARelativeBiasIsLearnedForEachDistanceAndTheLastServesThoseBeyond) {
  for (const bool both_sides : {false, true}) {
    Initializer init = numbers();
    AttentionPosition position(init, Position::kRelative, 1, 3, both_sides);
    const int64_t rows = both_sides ? 5 : 3;
    ASSERT_EQ(position.distance_bias.shape(), (Shape{rows, 1}));
    std::vector<double> values;
    for (int64_t row = 0; row < rows; ++row) {
      values.push_back(static_cast<double>(both_sides ? row - 2 : row));
    }
    position.distance_bias = Tensor(Array::of({rows, 1}, DType::f64, values));
    const Tensor bias = bias_of_pairs(position.bias(1, 0, 5, 5, DType::f64), 5, 5);
    for (int64_t p = 0; p < 5; ++p) {
      for (int64_t j = 0; j < 5; ++j) {
        const int64_t distance = std::clamp<int64_t>(p - j, both_sides ? -2 : 0, 2);
        EXPECT_EQ(bias.to_vector()[static_cast<size_t>(p * 5 + j)], static_cast<double>(distance));
      }
    }
  }
}

}  // namespace
}  // namespace qkv
