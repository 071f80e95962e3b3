#include "framework/nn/attention_position.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/nn/attention.h"
#include "framework/ops/ops.h"
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
  const Tensor bias = position.bias(kHeads, /*first_query=*/1, 2, 4, DType::f64);
  // Slopes 2^-4 and 2^-8; queries at 1 and 2.
  const double a = -1.0 / 16, b = -1.0 / 256;
  EXPECT_EQ(bias.to_vector(), (std::vector<double>{a, 0, a, 2 * a, 2 * a, a, 0, a,  //
                                                   b, 0, b, 2 * b, 2 * b, b, 0, b}));
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
    const Tensor bias = position.bias(1, 0, 5, 5, DType::f64);
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
