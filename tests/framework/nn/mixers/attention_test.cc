#include "framework/nn/mixers/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

Linear& linear_of(Projection& map) { return std::get<Linear>(map.kind); }
const Linear& linear_of(const Projection& map) { return std::get<Linear>(map.kind); }

// The weights of attention, [B, H, Tq, Tk].
Tensor weights_of(const MultiHeadAttention& attention, const Tensor& x) {
  Trace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  attention(x, {}, context);
  return trace["weights"];
}

MultiHeadAttention make_attention(int64_t d_model, int64_t num_heads, bool scale_scores = true,
                                  Initializer init = Initializer(RandomStream(5), DType::f64)) {
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

// One head that projects nothing.
MultiHeadAttention identity(int64_t width) {
  MultiHeadAttention attention;
  std::vector<int64_t> places(static_cast<size_t>(width));
  std::iota(places.begin(), places.end(), int64_t{0});
  const Tensor eye = one_hot(Tensor(Array::of({width}, places)), width, DType::f64);
  Linear map;
  map.weight = eye;
  attention.query = map;
  attention.key = map;
  attention.value = map;
  attention.output = map;
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

TEST(AttentionTest, WithoutMaskAndPositionsItDoesNotKnowTheOrder) {
  const MultiHeadAttention attention = make_attention(8, 2);
  ForwardContext context;
  const Tensor a = random({1, 1, 8}, 8), b = random({1, 1, 8}, 9), c = random({1, 1, 8}, 10);
  const Tensor y = attention(concat({a, b, c}, 1), {}, context);
  const Tensor turned = attention(concat({c, a, b}, 1), {}, context);
  expect_near(slice(turned, 1, 0, 1).to_vector(), slice(y, 1, 2, 1).to_vector(), 1e-12);
  expect_near(slice(turned, 1, 1, 2).to_vector(), slice(y, 1, 0, 2).to_vector(), 1e-12);
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

// A score's variance is d_k when queries and keys have variance 1, so that without scaling the
// softmax of wide heads is all but one-hot; dividing by sqrt(d_k) takes the width out of it.
TEST(AttentionTest, ScalingKeepsTheVarianceOfScoresAtOneForEveryWidth) {
  for (const int64_t width : {4, 64, 256}) {
    const Tensor q = random({1, 100, width}, 13), k = random({1, 100, width}, 14);
    const auto variance_of_scores = [&](bool scale_scores) {
      MultiHeadAttention attention = identity(width);
      attention.scale_scores = scale_scores;
      Trace trace;
      ForwardContext context;
      const Tracing tracing(trace);
      attention(q, k, {}, context);
      return variance(reshape(trace["scores"], {-1}), 0).item();
    };
    EXPECT_NEAR(variance_of_scores(true), 1.0, 0.2) << "d_k " << width;
    EXPECT_NEAR(variance_of_scores(false) / static_cast<double>(width), 1.0, 0.2) << width;
  }
}

// w (1 - w) is the derivative of a weight by its own score. Where softmax is all but one-hot it is
// all but 0, and nothing is learned.
TEST(AttentionTest, WithoutScalingSoftmaxSaturatesAsHeadsGrowWide) {
  const auto slope = [](int64_t width, bool scale_scores) {
    const Tensor q = random({1, 1, 50, width}, 40), k = random({1, 1, 50, width}, 41);
    const double scale = scale_scores ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
    const Tensor weights = attention_weights(q, k, {.scale = scale});
    return mean(weights * (1.0 - weights)).item();
  };
  EXPECT_LT(slope(64, false), 0.5 * slope(4, false));
  EXPECT_LT(slope(1024, false), 0.5 * slope(64, false));
  for (const int64_t width : {64, 1024}) {
    EXPECT_NEAR(slope(width, true) / slope(4, true), 1.0, 0.05) << "d_k " << width;
  }
}

TEST(AttentionTest, UnscaledAndUnprojectedItIsTheSoftmaxOfXXTransposedTimesX) {
  const Tensor x = constant({1, 1, 3, 2}, {1, 0, 0, 1, 1, 1}, DType::f64);
  const Tensor y = scaled_dot_product_attention(x, x, x, {});
  const double e = std::exp(1.0);
  // X Xᵀ = [1 0 1; 0 1 1; 1 1 2]
  const double own = 2 * e / (2 * e + 1), other = (1 + e) / (2 * e + 1), last = (1 + e) / (2 + e);
  expect_near(y.to_vector(), {own, other, other, own, last, last}, 1e-15);
}

TEST(AttentionTest, OneTokenInTwoContextsGetsTwoVectors) {
  const MultiHeadAttention attention = make_attention(8, 2);
  ForwardContext context;
  const Tensor token = random({1, 1, 8}, 44);
  const auto within = [&](uint64_t seed) {
    const Tensor y = attention(concat({token, random({1, 3, 8}, seed)}, 1), {}, context);
    return slice(y, 1, 0, 1).to_vector();
  };
  EXPECT_EQ(within(45), within(45));
  EXPECT_NE(within(45), within(46));
}

TEST(AttentionTest, AHeadMeetsItsOwnKeysAlone) {
  MultiHeadAttention attention = make_attention(8, 2);
  const Tensor x = random({1, 4, 8}, 47);
  const Tensor before = weights_of(attention, x);
  // The rows of the second head.
  const Tensor weight = linear_of(attention.key).weight;
  linear_of(attention.key).weight =
      concat({slice(weight, 0, 0, 4), 2.0 * slice(weight, 0, 4, 4)}, 0);
  const Tensor after = weights_of(attention, x);
  const auto head = [](const Tensor& weights, int64_t h) {
    return slice(weights, 1, h, 1).to_vector();
  };
  EXPECT_EQ(head(before, 0), head(after, 0));
  EXPECT_NE(head(before, 1), head(after, 1));
}

}  // namespace
}  // namespace qkv
