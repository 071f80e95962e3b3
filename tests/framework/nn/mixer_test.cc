#include "framework/nn/mixer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/graph/op.h"
#include "framework/nn/block.h"
#include "framework/nn/key_value_cache.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 6, kLength = 7;

Tensor random(const Shape& shape, uint64_t seed) {
  return normal_like(zeros(shape, DType::f64), seed);
}

// Of every kind, for a causal mask or for one that is not.
std::vector<Mixer> mixers(bool causal,
                          Initializer init = Initializer(RandomStream(5), DType::f64)) {
  const auto linear = [&] { return Linear(init, kWidth, kWidth, true, 0.5); };
  LearnedMixing learned(init, kLength);
  learned.scores = cast(random({kLength, kLength}, 6), init.dtype());
  return {{MultiHeadAttention{.query = linear(),
                              .key = linear(),
                              .value = linear(),
                              .output = linear(),
                              .num_heads = 2,
                              .weight_dropout = {},
                              .output_dropout = {}}},
          {Convolution(init, kWidth, 3, false, true, 0.5)},
          {Convolution(init, kWidth, 4, true, true, 0.5)},
          {Recurrence(init, kWidth, Cell::kRnn, !causal, true, 0.5)},
          {Recurrence(init, kWidth, Cell::kLstm, !causal, true, 0.5)},
          {learned},
          {UniformMixing()}};
}

Tensor mixed(const Mixer& mixer, const Tensor& x, const AttentionMask& mask) {
  ForwardContext context;
  return mixer(x, mask, context);
}

const AttentionMask kCausal = {.causal = true};

TEST(MixerTest, TheFutureDoesNotChangeThePast) {
  const Tensor past = random({2, 4, kWidth}, 1);
  for (const Mixer& mixer : mixers(true)) {
    SCOPED_TRACE(mixer.name());
    const auto with_future = [&](uint64_t seed) {
      return mixed(mixer, concat({past, random({2, 3, kWidth}, seed)}, 1), kCausal);
    };
    const Tensor a = with_future(2), b = with_future(3);
    EXPECT_EQ(slice(a, 1, 0, 4).to_vector(), slice(b, 1, 0, 4).to_vector());
    EXPECT_NE(slice(a, 1, 4, 1).to_vector(), slice(b, 1, 4, 1).to_vector());
  }
}

// Whether y at `to` depends on x at `from`.
bool hears(const Mixer& mixer, const AttentionMask& mask, int64_t to, int64_t from) {
  const Tensor x = parameter(random({1, kLength, kWidth}, 4).array());
  const Tensor y = mixed(mixer, x, mask);
  const Gradients g = backward(sum(slice(y, 1, to, 1) * random({1, 1, kWidth}, 5)));
  return sum(pow(slice(g[x], 1, from, 1), 2.0)).item() > 0;
}

TEST(MixerTest, WhereTheMaskIsNotCausalItHearsOfBothSides) {
  for (const Mixer& mixer : mixers(false)) {
    SCOPED_TRACE(mixer.name());
    for (const int64_t from : {2, 3, 4}) EXPECT_TRUE(hears(mixer, {}, 3, from)) << from;
  }
}

TEST(MixerTest, AConvolutionHearsOfItsTapsAndTheOthersOfEverybody) {
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      SCOPED_TRACE(mixer.name());
      int64_t first = 0, last = causal ? 3 : kLength - 1;
      if (const auto* layer = std::get_if<Child<"convolution", Convolution>>(&mixer.kind)) {
        const int64_t kernel = layer->kernel();
        first = 3 - (causal ? kernel - 1 : (kernel - 1) / 2);
        last = first + kernel - 1;
      }
      for (int64_t from = 0; from < kLength; ++from) {
        EXPECT_EQ(hears(mixer, {.causal = causal}, 3, from), first <= from && from <= last)
            << from << (causal ? " causal" : "");
      }
    }
  }
}

TEST(MixerTest, PaddingIsAsIfItWereNotThere) {
  const Tensor x = random({1, 4, kWidth}, 7);
  const Tensor padded = concat({x, random({1, 3, kWidth}, 8)}, 1);
  const Tensor padding = constant({1, kLength}, {0, 0, 0, 0, 1, 1, 1}, DType::boolean);
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      SCOPED_TRACE(mixer.name());
      const Tensor y = mixed(mixer, padded, {.causal = causal, .padding = padding});
      expect_close(slice(y, 1, 0, 4), mixed(mixer, x, {.causal = causal}),
                   {.relative = 1e-12, .absolute = 1e-13});
    }
  }
}

TEST(MixerTest, NobodyHearsOfPaddingWhereverItStands) {
  const Tensor a = random({2, kLength, kWidth}, 9), other = random({2, kLength, kWidth}, 10);
  const Tensor padding =
      constant({2, kLength}, {1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0}, DType::boolean);
  const Tensor everywhere = reshape(padding, {2, kLength, 1});
  const Tensor b = where(broadcast_to(everywhere, a.shape()), other, a);
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      SCOPED_TRACE(mixer.name());
      const auto heard = [&](const Tensor& x) {
        const Tensor y = mixed(mixer, x, {.causal = causal, .padding = padding});
        return masked_fill(y, everywhere, 0.0).to_vector();
      };
      EXPECT_EQ(heard(a), heard(b));
    }
  }
}

TEST(MixerTest, ReadingOnIsReadingAllAtOnce) {
  const NoGrad no_grad;
  const Tensor x = random({2, kLength, kWidth}, 11);
  for (const Mixer& mixer : mixers(true)) {
    SCOPED_TRACE(mixer.name());
    const Tensor whole = mixed(mixer, x, kCausal);
    for (const std::vector<int64_t>& lengths :
         {std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1}, {4, 2, 1}, {1, 6}}) {
      KeyValueCache cache;
      std::vector<Tensor> pieces;
      for (const int64_t length : lengths) {
        ForwardContext context{.first_position = cache.length(), .cache = &cache};
        pieces.push_back(mixer(slice(x, 1, context.first_position, length), kCausal, context));
      }
      EXPECT_EQ(cache.length(), kLength);
      expect_close(concat(pieces, 1), whole, {.relative = 1e-12, .absolute = 1e-13});
    }
  }
}

TEST(MixerTest, WithPaddingReadingOnIsReadingAllAtOnce) {
  const NoGrad no_grad;
  const Tensor x = random({1, kLength, kWidth}, 12);
  const Tensor padding = constant({1, kLength}, {1, 0, 0, 1, 0, 1, 0}, DType::boolean);
  for (const Mixer& mixer : mixers(true)) {
    SCOPED_TRACE(mixer.name());
    const Tensor whole = mixed(mixer, x, {.causal = true, .padding = padding});
    KeyValueCache cache;
    std::vector<Tensor> pieces;
    for (const int64_t length : {2, 3, 2}) {
      ForwardContext context{.first_position = cache.length(), .cache = &cache};
      const int64_t first = context.first_position;
      const AttentionMask mask = {.causal = true, .padding = slice(padding, 1, 0, first + length)};
      pieces.push_back(mixer(slice(x, 1, first, length), mask, context));
    }
    expect_close(concat(pieces, 1), whole, {.relative = 1e-12, .absolute = 1e-13});
  }
}

// What stands before and after a token is all read at once, and nothing is left to read on.
TEST(MixerTest, WhatHearsOfBothSidesDoesNotUseTheCache) {
  const NoGrad no_grad;
  const Tensor x = random({2, kLength, kWidth}, 13);
  for (const Mixer& mixer : mixers(false)) {
    if (mixer.name() == "attention") continue;
    SCOPED_TRACE(mixer.name());
    KeyValueCache cache;
    for (int pass = 0; pass < 2; ++pass) {
      ForwardContext context{.cache = &cache};
      EXPECT_EQ(mixer(x, {}, context).to_vector(), mixed(mixer, x, {}).to_vector());
    }
    EXPECT_EQ(cache.length(), 0);
  }
}

TEST(MixerTest, TokensThatDoNotFollowAreAnError) {
  const NoGrad no_grad;
  for (const Mixer& mixer : mixers(true)) {
    KeyValueCache cache;
    ForwardContext context{.first_position = 2, .cache = &cache};
    const std::string name(mixer.name());
    EXPECT_EQ(error_of([&] {
                mixer(random({1, 1, kWidth}, 1), kCausal, context);
              }),
              absl::StrCat("key_value_cache: \"", name,
                           "\" has read 0 tokens, and is given those from position 2 on (in ", name,
                           ")"));
  }
}

TEST(MixerTest, InBf16ItIsTheSameUpToRounding) {
  const Tensor x = cast(random({2, kLength, kWidth}, 14), DType::f32);
  for (const bool causal : {true, false}) {
    const std::vector<Mixer> exact = mixers(causal, Initializer(RandomStream(5), DType::f32));
    const std::vector<Mixer> rounded =
        mixers(causal, Initializer(RandomStream(5), DType::f32, /*bf16_products=*/true));
    for (size_t i = 0; i < exact.size(); ++i) {
      SCOPED_TRACE(exact[i].name());
      const Tensor leaf = parameter(x.array());
      const Tensor y = mixed(rounded[i], leaf, {.causal = causal});
      expect_close(y, mixed(exact[i], x, {.causal = causal}), {.relative = 0.05, .absolute = 0.05});
      EXPECT_EQ(backward(sum(y))[leaf].describe(), "f32[2, 7, 6]");
    }
  }
}

TEST(MixerTest, AWindowIsKeptToOrRefused) {
  const Tensor x = random({1, kLength, kWidth}, 15);
  for (const Mixer& mixer : mixers(true)) {
    const AttentionMask mask = {.causal = true, .window = 2};
    const std::string refusal = error_of([&] { mixed(mixer, x, mask); });
    if (refusal.empty()) {
      EXPECT_FALSE(hears(mixer, mask, 3, 1)) << mixer.name();
      EXPECT_TRUE(hears(mixer, mask, 3, 2)) << mixer.name();
    } else {
      const std::string name(mixer.name());
      EXPECT_EQ(refusal, absl::StrCat(name, ": cannot keep to a window (in ", name, ")"));
    }
  }
}

TEST(MixerTest, ABlockNamesItsPartsAfterItsMixer) {
  for (const Mixer& mixer : mixers(true)) {
    Initializer init(RandomStream(1), DType::f64);
    Block block;
    block.mixer_norm = Norm{LayerNorm(init, kWidth, true)};
    block.mixer = mixer;
    const std::string name(mixer.name());
    const std::vector<NamedParameter> all = parameters(block);
    ASSERT_GE(all.size(), 2u);
    EXPECT_EQ(all[0].name, name + "_norm.weight");
    EXPECT_EQ(all[1].name, name + "_norm.bias");
    for (size_t i = 2; i < all.size(); ++i) EXPECT_TRUE(all[i].name.starts_with(name + ".")) << i;
  }
}

// The weights that a mixer notes.
Tensor weights_of(const Mixer& mixer, const Tensor& x, const AttentionMask& mask) {
  Trace trace;
  ForwardContext context{.trace = &trace};
  mixer(x, mask, context);
  return trace[std::string(mixer.name()) + ".weights"];
}

TEST(MixerTest, OfThoseThatWeighOnlyAttentionLooksAtWhatItReads) {
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      if (mixer.name() == "recurrence") continue;
      const auto weights = [&](uint64_t seed) {
        return weights_of(mixer, random({1, kLength, kWidth}, seed), {.causal = causal})
            .to_vector();
      };
      EXPECT_EQ(weights(1) == weights(2), mixer.name() != "attention") << mixer.name();
    }
  }
}

TEST(MixerTest, LearnedWeightsOfATokenSumToOneAndAreZeroAfterIt) {
  const Mixer learned = mixers(true)[5];
  const Tensor weights = weights_of(learned, random({1, 5, kWidth}, 1), kCausal);
  ASSERT_EQ(weights.shape(), (Shape{5, 5}));
  expect_close(sum(weights, 1), ones({5}, DType::f64), {.relative = 1e-12, .absolute = 0});
  const std::vector<double> values = weights.to_vector();
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) EXPECT_EQ(values[i * 5 + j] > 0, j <= i) << i << ", " << j;
  }
}

TEST(MixerTest, LearnedMixingStartsAsTheMeanAndIsNotLongerThanItsTable) {
  Initializer init(RandomStream(1), DType::f64);
  const Mixer learned = {LearnedMixing(init, 4)};
  const Tensor x = random({2, 4, kWidth}, 16);
  for (const bool causal : {true, false}) {
    EXPECT_EQ(mixed(learned, x, {.causal = causal}).to_vector(),
              mixed({UniformMixing()}, x, {.causal = causal}).to_vector());
  }
  EXPECT_EQ(error_of([&] {
              mixed(learned, random({1, 5, kWidth}, 1), kCausal);
            }),
            "learned: has scores of 4 positions, not of 5 (in learned)");
}

TEST(MixerTest, UniformMixingIsTheMeanOfWhatIsSeen) {
  const Mixer uniform = {UniformMixing()};
  const Tensor x = random({1, 4, kWidth}, 17);
  const Tensor padding = constant({1, 4}, {0, 1, 0, 0}, DType::boolean);
  const auto at = [&](int64_t t) { return slice(x, 1, t, 1); };
  const Tolerance close = {.relative = 1e-12, .absolute = 1e-13};
  expect_close(mixed(uniform, x, kCausal),
               concat({at(0), (at(0) + at(1)) / 2.0, (at(0) + at(1) + at(2)) / 3.0,
                       (at(0) + at(1) + at(2) + at(3)) / 4.0},
                      1),
               close);
  expect_close(mixed(uniform, x, {.causal = true, .padding = padding}),
               concat({at(0), at(0), (at(0) + at(2)) / 2.0, (at(0) + at(2) + at(3)) / 3.0}, 1),
               close);
}

// y[t, n] = sum_{k, c} weight[n, c, k] x[t + k - before, c] + bias[n] with nothing but loops; a
// depthwise weight is taken for a full one with zeros.
std::vector<double> convolution_by_loops(const std::vector<double>& x, const Convolution& layer,
                                         int64_t before) {
  const auto weight = layer.weight.to_vector(), bias = layer.bias.to_vector();
  const int64_t kernel = layer.kernel();
  std::vector<double> y;
  for (int64_t t = 0; t < kLength; ++t) {
    for (int64_t n = 0; n < kWidth; ++n) {
      double sum = bias[static_cast<size_t>(n)];
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t from = t + k - before;
        if (from < 0 || from >= kLength) continue;
        for (int64_t c = 0; c < kWidth; ++c) {
          if (layer.depthwise && c != n) continue;
          const int64_t row = layer.depthwise ? n : n * kWidth + c;
          sum += weight[static_cast<size_t>(row * kernel + k)] *
                 x[static_cast<size_t>(from * kWidth + c)];
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(ConvolutionTest, IsTheFormula) {
  const Tensor x = random({1, kLength, kWidth}, 18);
  Initializer init(RandomStream(5), DType::f64);
  for (const bool depthwise : {true, false}) {
    for (const int64_t kernel : {1, 2, 3, 9}) {
      Convolution layer(init, kWidth, kernel, depthwise, true, 0.5);
      layer.bias = random({kWidth}, 19);
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
  const Convolution layer(init, kWidth, 3, false, true, 0.5);
  KeyValueCache cache;
  for (int64_t t = 0; t < kLength; ++t) {
    ForwardContext context{.first_position = t, .cache = &cache};
    layer(random({1, 1, kWidth}, 1), kCausal, context);
  }
  const std::vector<Tensor>& kept = cache.read_on("", kLength, 0);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].shape(), (Shape{1, 2, kWidth}));
}

// One sequence with nothing but loops, from zeros; gates in PyTorch's order i, f, g, o.
std::vector<double> lstm_by_loops(const Tensor& x, const RecurrentScan& scan) {
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
    const auto of_x = project(scan.input.weight.to_vector(), slice(x, 1, t, 1).to_vector());
    const auto of_h = project(scan.state_weight.to_vector(), h);
    const auto a = [&](size_t gate, size_t j) {
      return of_x[gate * n + j] + of_h[gate * n + j] + bias[gate * n + j];
    };
    for (size_t j = 0; j < n; ++j) {
      c[j] = sigmoid_of(a(1, j)) * c[j] + sigmoid_of(a(0, j)) * std::tanh(a(2, j));
      h[j] = sigmoid_of(a(3, j)) * std::tanh(c[j]);
    }
    all.insert(all.end(), h.begin(), h.end());
  }
  return all;
}

TEST(RecurrenceTest, AnLstmIsTheFormula) {
  Initializer init(RandomStream(5), DType::f64);
  const Recurrence layer(init, kWidth, Cell::kLstm, false, true, 0.5);
  const Tensor x = random({1, kLength, kWidth}, 20);
  Trace trace;
  ForwardContext context{.trace = &trace};
  layer(x, kCausal, context);
  const Tensor& hidden = trace["forward.hidden"];
  expect_close(hidden,
               Tensor(Array::of(hidden.shape(), DType::f64, lstm_by_loops(x, layer.forward))),
               {.relative = 1e-12, .absolute = 1e-13});
  EXPECT_EQ(trace["forward.cell"].shape(), hidden.shape());
}

TEST(RecurrenceTest, InBothDirectionsOneStateRunsEachWay) {
  Initializer init(RandomStream(5), DType::f64);
  Recurrence layer(init, kWidth, Cell::kLstm, true, true, 0.5);
  layer.backward.input = layer.forward.input;
  layer.backward.state_weight = layer.forward.state_weight;
  std::vector<Tensor> turned;
  const Tensor x = random({1, kLength, kWidth}, 21);
  for (int64_t t = kLength - 1; t >= 0; --t) turned.push_back(slice(x, 1, t, 1));
  const auto hidden = [&](const Tensor& of, const char* path) {
    Trace trace;
    ForwardContext context{.trace = &trace};
    layer(of, {}, context);
    return trace[path];
  };
  const Tensor there = hidden(x, "forward.hidden");
  const Tensor back = hidden(concat(turned, 1), "backward.hidden");
  ASSERT_EQ(there.shape(), (Shape{1, kLength, kWidth / 2}));
  for (int64_t t = 0; t < kLength; ++t) {
    EXPECT_EQ(slice(there, 1, t, 1).to_vector(), slice(back, 1, kLength - 1 - t, 1).to_vector());
  }
}

TEST(RecurrenceTest, HasAsManyParametersAsItsHeaderSays) {
  const int64_t c = 32;
  const auto count = [&](Cell cell, bool both_directions) {
    Initializer init = Initializer::shapes_only(DType::f32);
    return parameter_count(parameters(Recurrence(init, c, cell, both_directions, false, 0.5)));
  };
  EXPECT_EQ(count(Cell::kLstm, false), 9 * c * c);
  EXPECT_EQ(count(Cell::kLstm, true), 7 * c * c);
  EXPECT_EQ(count(Cell::kRnn, false), 3 * c * c);
  EXPECT_EQ(count(Cell::kRnn, true), 5 * c * c / 2);
}

TEST(RecurrenceTest, RunsInAsManyDirectionsAsTheMaskLetsItHear) {
  const Tensor x = random({1, 2, kWidth}, 22);
  EXPECT_EQ(error_of([&] { mixed(mixers(false)[4], x, kCausal); }),
            "recurrence: runs in both directions, and the mask is causal (in recurrence)");
  EXPECT_EQ(error_of([&] { mixed(mixers(true)[4], x, {}); }),
            "recurrence: runs in one direction, and the mask is not causal (in recurrence)");
}

// Of a sequence that is nothing but one token and then zeros.
TEST(RecurrenceTest, AnLstmRemembersToBeginWithAndItsBiasIsWhy) {
  Initializer init(RandomStream(5), DType::f64);
  Recurrence layer(init, kWidth, Cell::kLstm, false, true, 0.5);
  const Tensor x = concat({random({1, 1, kWidth}, 23), zeros({1, 9, kWidth}, DType::f64)}, 1);
  const auto kept = [&] {
    Trace trace;
    ForwardContext context{.trace = &trace};
    layer(x, kCausal, context);
    const Tensor& cell = trace["forward.cell"];
    return sum(pow(slice(cell, 1, 9, 1), 2.0)).item() / sum(pow(slice(cell, 1, 0, 1), 2.0)).item();
  };
  const double with_bias = kept();
  layer.forward.input.bias = zeros({4 * kWidth}, DType::f64);
  EXPECT_GT(with_bias, 10 * kept());
}

}  // namespace
}  // namespace qkv
