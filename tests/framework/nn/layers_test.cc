#include "framework/nn/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/autograd/backward.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/nn/block.h"
#include "framework/nn/layer_examples.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/position.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/ops/misuse_arguments.h"
#include "tests/framework/testing.h"

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

// Layers, given what nobody should give them.

TEST(LayerMisuseTest, AnUndefinedInputOrParameterIsAnError) {
  for (const OpExamples& layer : layer_examples()) {
    for (const OpExample& example : layer.examples) {
      const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(1));
      for (size_t i = 0; i < inputs.size(); ++i) {
        // An undefined padding is none, and an undefined bias.
        const std::string name = i < example.input_names.size() ? example.input_names[i] : "";
        if (name == "padding" || name.ends_with("bias")) continue;
        std::vector<Tensor> changed = inputs;
        changed[i] = Tensor();
        EXPECT_NE(error_of([&] { example.f(changed); }), "")
            << layer.op << ", " << example.name << ", " << name;
      }
    }
  }
}

TEST(LayerMisuseTest, StrangeInputsAndParametersGiveATensorOrAnError) {
  for (const OpExamples& layer : layer_examples()) call_with_strange_tensors(layer);
}

TEST(LayerMisuseTest, AttentionNeedsHeadsThatDivideBothSequences) {
  Initializer init(RandomStream(1), DType::f64);
  MultiHeadAttention layer{.query = Linear(init, 4, 4, false, 1.0),
                           .key = Linear(init, 4, 4, false, 1.0),
                           .value = Linear(init, 4, 4, false, 1.0),
                           .output = Linear(init, 4, 4, false, 1.0),
                           .num_heads = 0,
                           .weight_dropout = {},
                           .output_dropout = {}};
  const Tensor x = zeros({1, 2, 4}, DType::f64);
  ForwardContext context;
  expect_error("attention: needs at least one head, not 0",
               [&] { layer(x, AttentionMask(), context); });
  layer.num_heads = 2;
  expect_error(
      "attention: needs x [B, T, C] with C a multiple of 2 heads: x f64[1, 2, 4], source "
      "undefined",
      [&] { layer(x, Tensor(), AttentionMask(), context); });
  expect_error("attention: needs x [B, T, C] with C a multiple of 2 heads: x f64[2, 4]", [&] {
    layer(zeros({2, 4}, DType::f64), AttentionMask(), context);
  });
}

TEST(LayerMisuseTest, ADropoutThatIsNoProbabilityIsAnError) {
  ForwardContext context{.training = true};
  for (const double p : {-0.5, 1.0, 0.0 / 0.0}) {
    EXPECT_NE(error_of([&] { Dropout{p}(ones({2}), context); }), "") << p;
  }
}

TEST(LayerMisuseTest, LengthsThatNoMaskOrTableCanHaveAreErrors) {
  expect_error("hidden_keys: size -1 is negative", [] { hidden_keys({.causal = true}, -1, 2); });
  EXPECT_EQ(hidden_keys({}, kLarge, 0).shape(), (Shape{1, 1, kLarge, 0}));
  EXPECT_THROW(hidden_keys({}, kLarge, 1), OutOfMemory);
  expect_error("sinusoidal_positions: size -1 is negative",
               [] { sinusoidal_positions(-1, 4, DType::f32); });
  EXPECT_NE(error_of([] { sinusoidal_positions(kLarge, kLarge, DType::f32); }), "");
}

Block make_block(double weight_dropout = 0.0) {
  Initializer init(RandomStream(5), DType::f64);
  const auto linear = [&](int64_t in, int64_t out) { return Linear(init, in, out, true, 0.5); };
  Block block;
  block.mixer_norm = Norm{LayerNorm(init, 8, true)};
  MultiHeadAttention attention;
  attention.query = linear(8, 8);
  attention.key = linear(8, 8);
  attention.value = linear(8, 8);
  attention.output = linear(8, 8);
  attention.num_heads = 2;
  attention.weight_dropout = {weight_dropout};
  block.mixer = Mixer{attention};
  block.feed_forward_norm = Norm{LayerNorm(init, 8, true)};
  block.feed_forward = FeedForward{
      .up = linear(8, 16), .down = linear(16, 8), .activation = Activation::kGelu, .dropout = {}};
  return block;
}

const AttentionMask kCausalOnly{.causal = true};

TEST(TraceTest, HasTheGradientsUnderTheSamePaths) {
  Trace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  const Tensor y = make_block()(random({1, 3, 8}, 1), kCausalOnly, context);
  const Gradients g = backward(y, {.cotangent = random({1, 3, 8}, 2), .keep = trace.tensors()});
  const Tensor& p = trace["attention.weights"];
  const Tensor ds = p * (g[p] - sum(p * g[p], -1, /*keep_axis=*/true));
  expect_close(g[trace["attention.masked_scores"]], ds, {.relative = 1e-12, .absolute = 1e-14});
}

TEST(TraceTest, ChangesNothingOfWhatIsComputed) {
  const Tensor x = random({2, 5, 8}, 3);
  for (const double weight_dropout : {0.0, 0.3}) {
    const Block block = make_block(weight_dropout);
    Trace trace;
    const auto run = [&] {
      ForwardContext context{.training = true};
      return block(x, kCausalOnly, context);
    };
    const auto traced = [&] {
      const Tracing tracing(trace);
      return run();
    };
    expect_close(traced(), run(), {.relative = 1e-12, .absolute = 1e-12});
    EXPECT_EQ(trace.contains("attention.dropped_weights"), weight_dropout > 0);
  }
}

TEST(TraceTest, SaysWhatThereIsWhereAPathIsNot) {
  Trace trace;
  trace.add("scores", zeros({1}));
  trace.add("weights", zeros({2}));
  trace.add("scores", zeros({3}));
  EXPECT_EQ(trace["scores"].shape(), (Shape{3}));
  expect_error("trace: there is no \"score\"; there are scores, weights", [&] { trace["score"]; });
}

}  // namespace
}  // namespace qkv
