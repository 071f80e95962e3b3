#include "framework/nn/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// [one-hot token, one-hot position] times the two tables, one above the other.
TEST(EmbeddingTest, AddingAPositionIsProjectingItsOneHotVectorBesideThatOfTheToken) {
  Initializer init(RandomStream(1), DType::f64);
  const Embedding token(init, 7, 4, 1.0), position(init, 5, 4, 1.0);
  const Tensor tokens(Array::of({5}, std::vector<int64_t>{3, 6, 0, 3, 1})),
      positions(Array::of({5}, std::vector<int64_t>{0, 1, 2, 3, 4}));
  const Tensor both =
      concat({one_hot(tokens, 7, DType::f64), one_hot(positions, 5, DType::f64)}, 1);
  const Tensor projected = matmul(both, concat({token.weight, position.weight}, 0));  // [5, 4]
  EXPECT_EQ((token(tokens) + position(positions)).to_vector(), projected.to_vector());
}

TEST(DropoutTest, IsActiveInTrainingOnlyAndNeverTheSameTwice) {
  const Dropout layer{.p = 0.5};
  const Tensor x = ones({1000});
  ForwardContext context;
  EXPECT_EQ(layer(x, context).to_vector(), x.to_vector());
  context.training = true;
  const std::vector<double> first = layer(x, context).to_vector();
  EXPECT_NE(first, layer(x, context).to_vector());
  ForwardContext again;
  again.training = true;
  EXPECT_EQ(first, layer(x, again).to_vector());
  const auto dropped = std::count(first.begin(), first.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(dropped), 500, 5 * std::sqrt(250.0));
  for (const double value : first) EXPECT_TRUE(value == 0.0 || value == 2.0);
}

TEST(SinusoidalPositionsTest, AreTheFormula) {
  const std::vector<double> e = sinusoidal_positions(3, 4, DType::f64).to_vector();
  EXPECT_EQ(e[0], 0.0);
  EXPECT_EQ(e[1], 1.0);
  EXPECT_NEAR(e[2 * 4 + 0], std::sin(2.0), 1e-15);
  EXPECT_NEAR(e[2 * 4 + 1], std::cos(2.0), 1e-15);
  EXPECT_NEAR(e[2 * 4 + 2], std::sin(2.0 / 100), 1e-15);
  EXPECT_NEAR(e[2 * 4 + 3], std::cos(2.0 / 100), 1e-15);
}

// sin(a + b) = sin a cos b + cos a sin b: the step from t to t + k is one rotation for all t.
TEST(SinusoidalPositionsTest, AShiftIsARotationThatDoesNotDependOnWhere) {
  const std::vector<double> e = sinusoidal_positions(20, 6, DType::f64).to_vector();
  constexpr size_t kShift = 7;
  for (size_t pair = 0; pair < 6; pair += 2) {
    const double sin_b = e[kShift * 6 + pair], cos_b = e[kShift * 6 + pair + 1];
    for (size_t t = 0; t + kShift < 20; ++t) {
      const double sin_a = e[t * 6 + pair], cos_a = e[t * 6 + pair + 1];
      EXPECT_NEAR(e[(t + kShift) * 6 + pair], sin_a * cos_b + cos_a * sin_b, 1e-12);
      EXPECT_NEAR(e[(t + kShift) * 6 + pair + 1], cos_a * cos_b - sin_a * sin_b, 1e-12);
    }
  }
}

}  // namespace
}  // namespace qkv
