#include "framework/nn/trace.h"

#include <gtest/gtest.h>

#include "framework/autograd/backward.h"
#include "framework/nn/block.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

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
  EXPECT_EQ(error_of([&] { trace["score"]; }),
            "trace: there is no \"score\"; there are scores, weights");
}

}  // namespace
}  // namespace qkv
