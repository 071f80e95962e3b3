#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/convolution.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/nn/mixers/recurrence.h"
#include "framework/nn/trace.h"
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

constexpr int64_t kStateWidth = 6, kTimes = 7;
const AttentionMask kFromThePast = {.causal = true};

// One sequence with nothing but loops, from zeros; an LSTM's gates in PyTorch's order i, f, g, o.
std::vector<double> state_by_loops(const Tensor& x, const RecurrentScan& scan) {
  const auto project = [](const std::vector<double>& weight, const std::vector<double>& in) {
    std::vector<double> out(weight.size() / in.size(), 0.0);
    for (size_t i = 0; i < weight.size(); ++i) out[i / in.size()] += weight[i] * in[i % in.size()];
    return out;
  };
  const auto sigmoid_of = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto n = static_cast<size_t>(scan.hidden());
  const auto bias = scan.input.bias.to_vector();
  std::vector<double> h(n, 0.0), c(n, 0.0), all;
  for (int64_t t = 0; t < x.dim(1); ++t) {
    const auto from_x = project(scan.input.weight.to_vector(), slice(x, 1, t, 1).to_vector());
    const auto from_h = project(scan.state_weight.to_vector(), h);
    const auto a = [&](size_t gate, size_t j) {
      return from_x[gate * n + j] + from_h[gate * n + j] + bias[gate * n + j];
    };
    for (size_t j = 0; j < n; ++j) {
      if (bias.size() == n) {
        h[j] = std::tanh(a(0, j));
        continue;
      }
      c[j] = sigmoid_of(a(1, j)) * c[j] + sigmoid_of(a(0, j)) * std::tanh(a(2, j));
      h[j] = sigmoid_of(a(3, j)) * std::tanh(c[j]);
    }
    all.insert(all.end(), h.begin(), h.end());
  }
  return all;
}

TEST(RecurrenceTest, EachCellIsItsFormula) {
  const Tensor x = random({1, kTimes, kStateWidth}, 20);
  for (const Cell cell : {Cell::kLstm, Cell::kRnn}) {
    Initializer init(RandomStream(5), DType::f64);
    const Recurrence layer(init, kStateWidth, cell, false, true, 0.5);
    Trace trace;
    ForwardContext context;
    const Tracing tracing(trace);
    layer(x, kFromThePast, context);
    const Tensor& hidden = trace["forward.hidden"];
    expect_close(hidden,
                 Tensor(Array::of(hidden.shape(), DType::f64, state_by_loops(x, layer.forward))),
                 {.relative = 1e-12, .absolute = 1e-13});
    if (cell == Cell::kLstm) {
      EXPECT_EQ(trace["forward.cell"].shape(), hidden.shape());
    }
  }
}

TEST(RecurrenceTest, InBothDirectionsOneStateRunsEachWay) {
  Initializer init(RandomStream(5), DType::f64);
  Recurrence layer(init, kStateWidth, Cell::kLstm, true, true, 0.5);
  layer.backward.input = layer.forward.input;
  layer.backward.state_weight = layer.forward.state_weight;
  std::vector<Tensor> turned;
  const Tensor x = random({1, kTimes, kStateWidth}, 21);
  for (int64_t t = kTimes - 1; t >= 0; --t) turned.push_back(slice(x, 1, t, 1));
  const auto hidden = [&](const Tensor& tokens, const char* path) {
    Trace trace;
    ForwardContext context;
    const Tracing tracing(trace);
    layer(tokens, {}, context);
    return trace[path];
  };
  const Tensor there = hidden(x, "forward.hidden");
  const Tensor back = hidden(concat(turned, 1), "backward.hidden");
  ASSERT_EQ(there.shape(), (Shape{1, kTimes, kStateWidth / 2}));
  for (int64_t t = 0; t < kTimes; ++t) {
    EXPECT_EQ(slice(there, 1, t, 1).to_vector(), slice(back, 1, kTimes - 1 - t, 1).to_vector());
  }
}

}  // namespace
}  // namespace qkv
