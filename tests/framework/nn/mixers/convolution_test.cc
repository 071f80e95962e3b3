#include "framework/nn/mixers/convolution.h"

#include <gtest/gtest.h>

#include <vector>

#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kChannels = 6, kSteps = 7;
const AttentionMask kPastOnly = {.causal = true};

// y[t, n] = sum_{k, c} weight[n, c, k] x[t + k - before, c] + bias[n] with nothing but loops; a
// depthwise weight is taken for a full one with zeros.
std::vector<double> convolution_by_loops(const std::vector<double>& x, const Convolution& layer,
                                         int64_t before) {
  const auto weight = layer.weight.to_vector(), bias = layer.bias.to_vector();
  const int64_t kernel = layer.kernel();
  std::vector<double> y;
  for (int64_t t = 0; t < kSteps; ++t) {
    for (int64_t n = 0; n < kChannels; ++n) {
      double sum = bias[static_cast<size_t>(n)];
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t from = t + k - before;
        if (from < 0 || from >= kSteps) continue;
        for (int64_t c = 0; c < kChannels; ++c) {
          if (layer.depthwise && c != n) continue;
          const int64_t row = layer.depthwise ? n : n * kChannels + c;
          sum += weight[static_cast<size_t>(row * kernel + k)] *
                 x[static_cast<size_t>(from * kChannels + c)];
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(ConvolutionTest, IsTheFormula) {
  const Tensor x = random({1, kSteps, kChannels}, 18);
  Initializer init(RandomStream(5), DType::f64);
  for (const bool depthwise : {true, false}) {
    for (const int64_t kernel : {1, 2, 3, 9}) {
      Convolution layer(init, kChannels, kernel, depthwise, true, 0.5);
      layer.bias = random({kChannels}, 19);
      for (const bool causal : {true, false}) {
        ForwardContext context;
        const Tensor y = layer(x, {.causal = causal}, context);
        const Tensor expected(Array::of(
            y.shape(), DType::f64,
            convolution_by_loops(x.to_vector(), layer, causal ? kernel - 1 : (kernel - 1) / 2)));
        expect_close(y, expected, {.relative = 1e-12, .absolute = 1e-12});
      }
    }
  }
}

TEST(ConvolutionTest, RemembersItsLastTapsAndNothingElse) {
  const NoGrad no_grad;
  Initializer init(RandomStream(5), DType::f64);
  const Convolution layer(init, kChannels, 3, false, true, 0.5);
  KeyValueCache cache;
  for (int64_t t = 0; t < kSteps; ++t) {
    ForwardContext context{.first_position = t, .cache = &cache};
    layer(random({1, 1, kChannels}, 1), kPastOnly, context);
  }
  const std::vector<Tensor>& kept = cache.read_on("", kSteps, 0);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].shape(), (Shape{1, 2, kChannels}));
}

}  // namespace
}  // namespace qkv
