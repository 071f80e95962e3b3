#include "framework/nn/mixers/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/memory/storage.h"
#include "framework/nn/mixers/position.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

const Linear& linear_of(const Projection& map) { return std::get<Linear>(map.kind); }

MultiHeadAttention make_attention(int64_t d_model, int64_t num_heads, bool scale_scores = true) {
  Initializer init(RandomStream(5), DType::f64);
  const auto layer = [&] { return Linear(init, d_model, d_model, true, 0.5); };
  MultiHeadAttention attention;
  attention.query = layer();
  attention.key = layer();
  attention.value = layer();
  attention.output = layer();
  attention.num_heads = num_heads;
  attention.scale_scores = scale_scores;
  return attention;
}

// y = xWᵀ + b by three loops, x [T, C].
std::vector<double> project(const std::vector<double>& x, const Projection& map, int64_t length) {
  const Linear& layer = linear_of(map);
  const auto weight = layer.weight.to_vector(), bias = layer.bias.to_vector();
  const auto c = static_cast<size_t>(layer.weight.dim(0));
  std::vector<double> y(static_cast<size_t>(length) * c);
  for (size_t t = 0; t < static_cast<size_t>(length); ++t) {
    for (size_t o = 0; o < c; ++o) {
      y[t * c + o] = bias[o];
      for (size_t i = 0; i < c; ++i) y[t * c + o] += x[t * c + i] * weight[o * c + i];
    }
  }
  return y;
}

// The formula with nothing but loops, causal, for one sequence [T, C].
std::vector<double> attention_by_loops(const std::vector<double>& x, const MultiHeadAttention& m,
                                       int64_t length) {
  const auto c = static_cast<size_t>(linear_of(m.query).weight.dim(0));
  const size_t heads = static_cast<size_t>(m.num_heads), d = c / heads;
  const auto q = project(x, m.query, length), k = project(x, m.key, length),
             v = project(x, m.value, length);
  std::vector<double> concatenated(x.size(), 0.0);
  for (size_t h = 0; h < heads; ++h) {
    for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
      std::vector<double> weights;
      double total = 0;
      for (size_t j = 0; j <= i; ++j) {
        double score = 0;
        for (size_t n = h * d; n < (h + 1) * d; ++n) score += q[i * c + n] * k[j * c + n];
        weights.push_back(
            std::exp(score / (m.scale_scores ? std::sqrt(static_cast<double>(d)) : 1)));
        total += weights.back();
      }
      for (size_t j = 0; j <= i; ++j) {
        for (size_t n = h * d; n < (h + 1) * d; ++n) {
          concatenated[i * c + n] += weights[j] / total * v[j * c + n];
        }
      }
    }
  }
  return project(concatenated, m.output, length);
}

TEST(AttentionTest, IsTheFormula) {
  for (const bool scale_scores : {true, false}) {
    const MultiHeadAttention attention = make_attention(8, 2, scale_scores);
    const Tensor x = random({1, 5, 8}, 1);
    ForwardContext context;
    const Tensor y = attention(x, {.causal = true}, context);
    EXPECT_EQ(y.shape(), (Shape{1, 5, 8}));
    expect_near(y.to_vector(), attention_by_loops(x.to_vector(), attention, 5), 1e-12);
  }
}

TEST(AttentionTest, WeightsOfAQuerySumToOneAndAreZeroAfterIt) {
  const MultiHeadAttention attention = make_attention(8, 4);
  Trace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  attention(random({2, 6, 8}, 2), {.causal = true}, context);
  const Tensor weights = trace["weights"];
  ASSERT_EQ(weights.shape(), (Shape{2, 4, 6, 6}));
  const std::vector<double> values = weights.to_vector();
  for (size_t row = 0; row < values.size() / 6; ++row) {
    double total = 0;
    for (size_t key = 0; key < 6; ++key) {
      const double weight = values[row * 6 + key];
      total += weight;
      if (key > row % 6) {
        EXPECT_EQ(weight, 0.0);
      }
    }
    EXPECT_NEAR(total, 1.0, 1e-12);
  }
}

TEST(AttentionTest, ASequenceCanAttendToAnother) {
  const MultiHeadAttention attention = make_attention(8, 1);
  ForwardContext context;
  const Tensor x = random({2, 3, 8}, 11), source = random({2, 5, 8}, 12);
  const Tensor y = attention(x, source, {}, context);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 8}));
  const auto project = [](const Projection& map, const Tensor& tokens) {
    return matmul(tokens, linear_of(map).weight, {.transpose_b = true}) + linear_of(map).bias;
  };
  const Tensor scores = matmul(project(attention.query, x), project(attention.key, source),
                               {.transpose_b = true});  // [B, Tq, Tk]
  const Tensor mixed = matmul(softmax(scores / std::sqrt(8.0)), project(attention.value, source));
  expect_near(y.to_vector(), project(attention.output, mixed).to_vector(), 1e-12);
}

TEST(AttentionTest, UnscaledAndUnprojectedItIsTheSoftmaxOfXXTransposedTimesX) {
  const Tensor x = constant({1, 1, 3, 2}, {1, 0, 0, 1, 1, 1}, DType::f64);
  const Tensor y = scaled_dot_product_attention(x, x, x, {});
  const double e = std::exp(1.0);
  // X Xᵀ = [1 0 1; 0 1 1; 1 1 2]
  const double own = 2 * e / (2 * e + 1), other = (1 + e) / (2 * e + 1), last = (1 + e) / (2 + e);
  expect_near(y.to_vector(), {own, other, other, own, last, last}, 1e-15);
}

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
