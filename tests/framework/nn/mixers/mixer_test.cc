#include "framework/nn/mixers/mixer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kMixedWidth = 6, kMixedLength = 7;

// The kinds that `all` lacks, as they are without parameters.
template <size_t... kIndex>
void add_others(std::vector<Mixer>& all, std::index_sequence<kIndex...> /*kinds*/) {
  const auto lacks = [&all](size_t index) {
    return std::ranges::none_of(all,
                                [&](const Mixer& mixer) { return mixer.kind.index() == index; });
  };
  const auto add = [&](auto layer) { all.push_back({std::move(layer)}); };
  ((lacks(kIndex) ? add(std::variant_alternative_t<kIndex, decltype(Mixer::kind)>()) : void()),
   ...);
}

// A mixer of every kind, for a causal mask or for one that is not.
std::vector<Mixer> mixers(bool causal) {
  Initializer init(RandomStream(5), DType::f64);
  const auto linear = [&] { return Linear(init, kMixedWidth, kMixedWidth, true, 0.5); };
  LearnedMixing learned(init, kMixedLength);
  learned.scores = random({kMixedLength, kMixedLength}, 6);
  std::vector<Mixer> all = {{MultiHeadAttention{.query = linear(),
                                                .key = linear(),
                                                .value = linear(),
                                                .output = linear(),
                                                .num_heads = 2,
                                                .weight_dropout = {},
                                                .output_dropout = {}}},
                            {Convolution(init, kMixedWidth, 3, false, true, 0.5)},
                            {Convolution(init, kMixedWidth, 4, true, true, 0.5)},
                            {Recurrence(init, kMixedWidth, Cell::kRnn, !causal, true, 0.5)},
                            {Recurrence(init, kMixedWidth, Cell::kLstm, !causal, true, 0.5)},
                            {learned}};
  add_others(all, std::make_index_sequence<std::variant_size_v<decltype(Mixer::kind)>>());
  return all;
}

Tensor mixed(const Mixer& mixer, const Tensor& x, const AttentionMask& mask) {
  ForwardContext context;
  return mixer(x, mask, context);
}

const AttentionMask kCausalMask = {.causal = true};

// Whether y at `to` depends on x at `from`.
bool hears(const Mixer& mixer, const AttentionMask& mask, int64_t to, int64_t from) {
  const Tensor x = parameter(random({1, kMixedLength, kMixedWidth}, 4).array());
  const Tensor y = mixed(mixer, x, mask);
  const Gradients g = backward(sum(slice(y, 1, to, 1) * random({1, 1, kMixedWidth}, 5)));
  return sum(pow(slice(g[x], 1, from, 1), 2.0)).item() > 0;
}

TEST(MixerTest, AConvolutionHearsOfItsTapsAndTheOthersOfEverybody) {
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      SCOPED_TRACE(mixer.name());
      int64_t first = 0, last = causal ? 3 : kMixedLength - 1;
      if (const auto* layer = std::get_if<NotedChild<"convolution", Convolution>>(&mixer.kind)) {
        const int64_t kernel = layer->kernel();
        first = 3 - (causal ? kernel - 1 : (kernel - 1) / 2);
        last = first + kernel - 1;
      }
      for (int64_t from = 0; from < kMixedLength; ++from) {
        EXPECT_EQ(hears(mixer, {.causal = causal}, 3, from), first <= from && from <= last)
            << from << (causal ? " causal" : "");
      }
    }
  }
}

// The mixers, and attention with every position.
std::vector<Mixer> mixers_with_positions(bool causal) {
  std::vector<Mixer> all = mixers(causal);
  const auto attention = std::get<NotedChild<"attention", MultiHeadAttention>>(all[0].kind);
  Initializer init(RandomStream(9), DType::f64);
  for (const Position position : {Position::kRotary, Position::kAlibi, Position::kRelative}) {
    MultiHeadAttention placed = attention;
    placed.num_heads = 3;
    placed.position = AttentionPosition(init, position, 3, kMixedLength, !causal);
    all.push_back({placed});
  }
  return all;
}

// What x, y and a gradient have at the first tokens, after whatever the others hold.
struct FirstTokens {
  std::vector<double> y, dx, dx_of_others, dweights;
};

FirstTokens first_tokens(const Mixer& mixer, const AttentionMask& mask, double others,
                         bool create_graph) {
  constexpr int64_t kFirst = 4;
  const Shape shape = {2, kMixedLength - kFirst, kMixedWidth};
  const Tensor x = parameter(
      concat({random({2, kFirst, kMixedWidth}, 7), full(shape, others, DType::f64)}, 1).array());
  const Tensor y = slice(mixed(mixer, x, mask), 1, 0, kFirst);
  const Gradients g =
      backward(y, {.cotangent = random(y.shape(), 8), .create_graph = create_graph});
  FirstTokens result = {y.to_vector(),
                        slice(g[x], 1, 0, kFirst).to_vector(),
                        slice(g[x], 1, kFirst, shape[1]).to_vector(),
                        {}};
  for (const NamedParameter& p : parameters(mixer)) {
    if (!p.tensor.requires_grad()) continue;
    const std::vector<double> gradient = g[p.tensor].to_vector();
    result.dweights.insert(result.dweights.end(), gradient.begin(), gradient.end());
  }
  return result;
}

TEST(MixerTest, WhatIsMaskedMayHoldAnything) {
  const Tensor padding =
      constant({2, kMixedLength}, {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1}, DType::boolean);
  for (const bool causal : {true, false}) {
    for (const bool padded : {true, false}) {
      if (!causal && !padded) continue;
      const AttentionMask mask = {.causal = causal, .padding = padded ? padding : Tensor()};
      for (const Mixer& mixer : mixers_with_positions(causal)) {
        for (const bool create_graph : {false, true}) {
          const FirstTokens expected = first_tokens(mixer, mask, 0.5, create_graph);
          for (const double value : {double{NAN}, HUGE_VAL, -HUGE_VAL, 1e300}) {
            SCOPED_TRACE(absl::StrCat(std::string(mixer.name()), causal ? " causal" : "",
                                      padded ? " padded " : " ", value, create_graph));
            const FirstTokens found = first_tokens(mixer, mask, value, create_graph);
            expect_near(found.y, expected.y, 1e-13, "y");
            expect_near(found.dx, expected.dx, 1e-13, "dx");
            if (!padded) continue;  // the loss leaves out tokens that the mask does not
            expect_near(found.dweights, expected.dweights, 1e-12, "weights");
            EXPECT_EQ(found.dx_of_others, std::vector<double>(found.dx_of_others.size(), 0.0));
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(MixerTest, PaddingIsAsIfItWereNotThere) {
  const Tensor x = random({1, 4, kMixedWidth}, 7);
  const Tensor padded = concat({x, random({1, 3, kMixedWidth}, 8)}, 1);
  const Tensor padding = constant({1, kMixedLength}, {0, 0, 0, 0, 1, 1, 1}, DType::boolean);
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
  const Tensor a = random({2, kMixedLength, kMixedWidth}, 9),
               other = random({2, kMixedLength, kMixedWidth}, 10);
  const Tensor padding =
      constant({2, kMixedLength}, {1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0}, DType::boolean);
  const Tensor everywhere = reshape(padding, {2, kMixedLength, 1});
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
  const Tensor x = random({2, kMixedLength, kMixedWidth}, 11);
  const Tensor padding =
      constant({2, kMixedLength}, {1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, DType::boolean);
  for (const bool padded : {false, true}) {
    const auto mask_of = [&](int64_t tokens) {
      return AttentionMask{.causal = true,
                           .padding = padded ? slice(padding, 1, 0, tokens) : Tensor()};
    };
    for (const Mixer& mixer : mixers(true)) {
      SCOPED_TRACE(mixer.name());
      const Tensor whole = mixed(mixer, x, mask_of(kMixedLength));
      for (const std::vector<int64_t>& lengths :
           {std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1}, {4, 2, 1}, {1, 6}}) {
        KeyValueCache cache;
        std::vector<Tensor> pieces;
        for (const int64_t length : lengths) {
          const int64_t first = cache.length();
          ForwardContext context{.first_position = first, .cache = &cache};
          pieces.push_back(mixer(slice(x, 1, first, length), mask_of(first + length), context));
        }
        EXPECT_EQ(cache.length(), kMixedLength);
        expect_close(concat(pieces, 1), whole, {.relative = 1e-12, .absolute = 1e-13});
      }
    }
  }
}

// What stands before and after a token is all read at once, and nothing is left to read on.
TEST(MixerTest, WhatHearsOfBothSidesDoesNotUseTheCache) {
  const NoGrad no_grad;
  const Tensor x = random({2, kMixedLength, kMixedWidth}, 13);
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
    expect_error(absl::StrCat("key_value_cache: \"", name,
                              "\" has read 0 tokens, but the next tokens begin at position 2 (in ",
                              name, ")"),
                 [&] {
                   mixer(random({1, 1, kMixedWidth}, 1), kCausalMask, context);
                 });
  }
}

TEST(MixerTest, AWindowIsKeptToOrRefused) {
  const Tensor x = random({1, kMixedLength, kMixedWidth}, 15);
  for (const Mixer& mixer : mixers(true)) {
    const AttentionMask mask = {.causal = true, .window = 2};
    const std::string refusal = error_of([&] { mixed(mixer, x, mask); });
    if (refusal.empty()) {
      EXPECT_FALSE(hears(mixer, mask, 3, 1)) << mixer.name();
      EXPECT_TRUE(hears(mixer, mask, 3, 2)) << mixer.name();
    } else {
      const std::string name(mixer.name());
      EXPECT_EQ(
          refusal,
          absl::StrCat(name, ": the mask has a window, which this mixer does not support (in ",
                       name, ")"));
    }
  }
}

TEST(MixerTest, ABiasNeedsScoresAndPaddingAnEntryForEachToken) {
  const Tensor x = random({1, kMixedLength, kMixedWidth}, 15);
  const Tensor padding = constant({1, 2}, {0, 1}, DType::boolean);
  for (const Mixer& mixer : mixers(false)) {
    if (mixer.name() == "attention") continue;
    const std::string name(mixer.name()), where = absl::StrCat(" (in ", name, ")");
    expect_error(
        absl::StrCat(name, ": the mask has a bias, but this mixer has no scores to add it to",
                     where),
        [&] {
          mixed(mixer, x, {.bias = zeros({7, 7}, DType::f64)});
        });
    expect_error(
        absl::StrCat(name,
                     ": padding must be [B, T], one for each token: x f64[1, 7, 6], padding "
                     "bool[1, 2]",
                     where),
        [&] { mixed(mixer, x, {.padding = padding}); });
    expect_error(absl::StrCat(name, ": x must be [B, T, C]: x f64[7, 6]", where), [&] {
      mixed(mixer, reshape(x, {7, 6}), {});
    });
  }
}

// The weights that a mixer notes.
Tensor weights_of(const Mixer& mixer, const Tensor& x, const AttentionMask& mask) {
  Trace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  mixer(x, mask, context);
  return trace[std::string(mixer.name()) + ".weights"];
}

TEST(MixerTest, OfThoseThatWeighOnlyAttentionLooksAtWhatItReads) {
  for (const bool causal : {true, false}) {
    for (const Mixer& mixer : mixers(causal)) {
      if (mixer.name() == "recurrence") continue;
      const auto weights = [&](uint64_t seed) {
        return weights_of(mixer, random({1, kMixedLength, kMixedWidth}, seed), {.causal = causal})
            .to_vector();
      };
      EXPECT_EQ(weights(1) == weights(2), mixer.name() != "attention") << mixer.name();
    }
  }
}

TEST(MixerTest, LearnedMixingStartsAsTheMeanAndIsNotLongerThanItsTable) {
  Initializer init(RandomStream(1), DType::f64);
  const Mixer learned = {LearnedMixing(init, 4)};
  const Tensor x = random({2, 4, kMixedWidth}, 16);
  for (const bool causal : {true, false}) {
    EXPECT_EQ(mixed(learned, x, {.causal = causal}).to_vector(),
              mixed({UniformMixing()}, x, {.causal = causal}).to_vector());
  }
  expect_error("learned: has scores for 4 positions, not for 5 (in learned)", [&] {
    mixed(learned, random({1, 5, kMixedWidth}, 1), kCausalMask);
  });
}

TEST(MixerTest, UniformMixingIsTheMeanOfWhatIsSeen) {
  const Mixer uniform = {UniformMixing()};
  const Tensor x = random({1, 4, kMixedWidth}, 17);
  const Tensor padding = constant({1, 4}, {0, 1, 0, 0}, DType::boolean);
  const auto at = [&](int64_t t) { return slice(x, 1, t, 1); };
  const Tolerance close = {.relative = 1e-12, .absolute = 1e-13};
  expect_close(mixed(uniform, x, kCausalMask),
               concat({at(0), (at(0) + at(1)) / 2.0, (at(0) + at(1) + at(2)) / 3.0,
                       (at(0) + at(1) + at(2) + at(3)) / 4.0},
                      1),
               close);
  expect_close(mixed(uniform, x, {.causal = true, .padding = padding}),
               concat({at(0), at(0), (at(0) + at(2)) / 2.0, (at(0) + at(2) + at(3)) / 3.0}, 1),
               close);
}

TEST(MixerTest, ARecurrenceRunsInAsManyDirectionsAsTheMaskLetsItHear) {
  const Tensor x = random({1, 2, kMixedWidth}, 22);
  expect_error("recurrence: runs in both directions, but the mask is causal (in recurrence)",
               [&] { mixed(mixers(false)[4], x, kCausalMask); });
  expect_error("recurrence: runs in one direction, but the mask is not causal (in recurrence)",
               [&] { mixed(mixers(true)[4], x, {}); });
}

}  // namespace
}  // namespace qkv
