// What is masked has no effect, whatever it holds: attention beside its definition, which goes over
// the keys that a query sees and over nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kMaskedBatch = 2, kMaskedLength = 21, kMaskedHeads = 2, kMaskedWidth = 3;
constexpr double kMaskedScale = 0.6;
const Shape kMaskedShape = {kMaskedBatch, kMaskedLength, kMaskedHeads, kMaskedWidth};

struct MaskChoice {
  std::string name;
  AttentionMask mask;
};

Tensor flags(const Shape& shape, const std::function<bool(int64_t)>& is_set) {
  Array array(shape, DType::boolean);
  for (int64_t i = 0; i < array.size(); ++i) array.mutable_data<bool>()[i] = is_set(i);
  return Tensor(array);
}

// Scores of some pairs, as ALiBi has them, and -inf at others: any mask, as PyTorch's attn_mask.
Tensor bias_of(const Shape& shape, const Tensor& hidden) {
  return masked_fill(random(shape, 17), hidden, -HUGE_VAL);
}

std::vector<MaskChoice> mask_choices() {
  const Tensor padding = flags({kMaskedBatch, kMaskedLength}, [](int64_t i) {
    return i % kMaskedLength == 2 || i % kMaskedLength > 17;
  });
  const Tensor hidden = flags({kMaskedLength, kMaskedLength}, [](int64_t i) {
    return i % kMaskedLength == 2 || i % kMaskedLength > 17 ||
           (i / kMaskedLength + i % kMaskedLength) % 3 == 0;
  });
  const Shape distances = {kMaskedHeads, 2 * kMaskedLength - 1};
  return {{"causal", {.causal = true}},
          {"window", {.window = 3}},
          {"causal, window", {.causal = true, .window = 4}},
          {"padding", {.padding = padding}},
          {"causal, padding", {.causal = true, .padding = padding}},
          {"bias", {.bias = bias_of({kMaskedLength, kMaskedLength}, hidden)}},
          {"causal, padding, bias of -inf",
           {.causal = true,
            .padding = padding,
            .bias = bias_of({kMaskedHeads, kMaskedLength, kMaskedLength}, hidden)}},
          {"causal, relative bias", {.causal = true, .relative_bias = random(distances, 18)}},
          {"relative bias of -inf",
           {.relative_bias = bias_of(distances, flags(distances, [](int64_t i) {
                                       return i % (2 * kMaskedLength - 1) < 12;
                                     }))}}};
}

// One after the other: the output, and the gradients of query, key, value and the bias.
using Parts = std::vector<std::vector<double>>;

// The definition, in f64. A query whose gradient is 0 gives none.
Parts by_definition(const Parts& inputs, const AttentionMask& mask, const std::vector<double>& d) {
  const auto &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const bool relative = mask.relative_bias.defined();
  const Tensor bias = relative ? mask.relative_bias : mask.bias;
  const std::vector<double> terms = bias.defined() ? bias.to_vector() : std::vector<double>();
  const std::vector<double> padding =
      mask.padding.defined() ? mask.padding.to_vector() : std::vector<double>();
  const kernels::KeyRule rule = key_rule(mask, kMaskedLength, kMaskedLength);
  const auto at = [](int64_t b, int64_t t, int64_t h) {
    return static_cast<size_t>(((b * kMaskedLength + t) * kMaskedHeads + h) * kMaskedWidth);
  };
  Parts result(4, std::vector<double>(q.size()));
  result.emplace_back(terms.size());
  for (int64_t b = 0; b < kMaskedBatch; ++b) {
    for (int64_t h = 0; h < kMaskedHeads; ++h) {
      for (int64_t i = 0; i < kMaskedLength; ++i) {
        struct Seen {
          size_t at, term;
          double score, weight, dweight;
        };
        std::vector<Seen> seen;
        const size_t query = at(b, i, h);
        double largest = -HUGE_VAL, total = 0, dot = 0;
        for (int64_t j = rule.of(i, kMaskedLength).first; j < rule.of(i, kMaskedLength).last; ++j) {
          if (!padding.empty() && padding[static_cast<size_t>(b * kMaskedLength + j)] != 0)
            continue;
          const int64_t head =
              bias.defined() && bias.rank() == 3 ? h * kMaskedLength * kMaskedLength : 0;
          const auto term =
              static_cast<size_t>(relative ? h * (2 * kMaskedLength - 1) + i - j + kMaskedLength - 1
                                           : head + i * kMaskedLength + j);
          if (bias.defined() && terms[term] == -HUGE_VAL) continue;
          double score = bias.defined() ? terms[term] : 0.0;
          for (size_t c = 0; c < kMaskedWidth; ++c)
            score += kMaskedScale * q[query + c] * k[at(b, j, h) + c];
          seen.push_back({at(b, j, h), term, score, 0, 0});
          largest = std::max(largest, score);
        }
        for (Seen& s : seen) total += s.weight = std::exp(s.score - largest);
        bool is_asked_for = false;
        for (size_t c = 0; c < kMaskedWidth; ++c) is_asked_for |= d[query + c] != 0;
        for (Seen& s : seen) {
          s.weight /= total;
          for (size_t c = 0; c < kMaskedWidth; ++c) {
            result[0][query + c] += s.weight * v[s.at + c];
            s.dweight += d[query + c] * v[s.at + c];
            if (is_asked_for) result[3][s.at + c] += s.weight * d[query + c];
          }
          dot += s.weight * s.dweight;
        }
        for (const Seen& s : seen) {
          if (!is_asked_for) break;
          const double dscore = s.weight * (s.dweight - dot);
          for (size_t c = 0; c < kMaskedWidth; ++c) {
            result[1][query + c] += kMaskedScale * dscore * k[s.at + c];
            result[2][s.at + c] += kMaskedScale * dscore * q[query + c];
          }
          if (bias.defined()) result[4][s.term] += dscore;
        }
      }
    }
  }
  return result;
}

enum class Path { kFused, kCreateGraph, kComposed, kTraced };

Parts by_attention(const Parts& inputs, const MaskChoice& chosen, const std::vector<double>& d,
                   DType dtype, Path path) {
  std::optional<ComposedOnly> composed;
  if (path == Path::kComposed) composed.emplace();
  std::vector<Tensor> x;
  for (const std::vector<double>& numbers : inputs) {
    x.push_back(parameter(Array::of(kMaskedShape, dtype, numbers)));
  }
  AttentionOptions options = {.mask = chosen.mask, .scale = kMaskedScale};
  Tensor bias;
  for (Tensor* each : {&options.mask.bias, &options.mask.relative_bias}) {
    if (each->defined()) *each = bias = parameter(cast(*each, dtype).array());
  }
  const auto turned = [](const Tensor& t) { return transpose(t, 1, 2); };
  const Tensor y =
      path == Path::kTraced
          ? turned(scaled_dot_product_attention(turned(x[0]), turned(x[1]), turned(x[2]), options))
          : attention(x[0], x[1], x[2], options);
  const Gradients g = backward(y, {.cotangent = Tensor(Array::of(kMaskedShape, dtype, d)),
                                   .create_graph = path == Path::kCreateGraph});
  Parts result = {y.to_vector()};
  for (const Tensor& input : x) result.push_back(g[input].to_vector());
  result.push_back(bias.defined() ? g[bias].to_vector() : std::vector<double>());
  return result;
}

struct Poison {
  std::string where;
  double value;
  bool first_queries_only;  // the gradients of the others are 0
};

std::vector<Poison> poisons() {
  std::vector<Poison> all;
  for (const char* where : {"query", "key", "value", "gradient", "all"}) {
    for (const double value : {double{NAN}, HUGE_VAL, -HUGE_VAL, 3e38}) {
      for (const bool first_queries_only : {false, true}) {
        if (first_queries_only && std::string(where) == "gradient") continue;
        all.push_back({where, value, first_queries_only});
      }
    }
  }
  return all;
}

// Inputs, of which tokens 2, 18 and 20 hold the poison.
void poison_inputs(const Poison& poison, Parts& inputs, std::vector<double>& d) {
  inputs.clear();
  for (uint64_t seed = 1; seed <= 3; ++seed)
    inputs.push_back(random(kMaskedShape, seed).to_vector());
  d = random(kMaskedShape, 4).to_vector();
  const auto first = [&](size_t i) {
    return static_cast<int64_t>(i) / (kMaskedHeads * kMaskedWidth) % kMaskedLength;
  };
  for (size_t i = 0; i < d.size(); ++i) {
    const int64_t t = first(i);
    const bool is_poisoned = t == 2 || t == 18 || t == 20;
    const auto holds = [&](const char* name) {
      return is_poisoned && (poison.where == name || poison.where == "all");
    };
    if (holds("query")) inputs[0][i] = poison.value;
    if (holds("key")) inputs[1][i] = poison.value;
    if (holds("value")) inputs[2][i] = poison.value;
    if (holds("gradient")) d[i] = poison.value;
    if (poison.first_queries_only && t >= 2) d[i] = 0;
  }
}

// Wherever the definition has a number beside NaNs, it is that number, whatever is in their place;
// and a NaN that is seen is not lost.
void expect_as_defined(const Parts& found, const Parts& expected, bool has_nan) {
  const char* names[] = {"output", "query", "key", "value", "bias"};
  size_t numbers = 0;
  for (size_t r = 0; r < expected.size(); ++r) {
    ASSERT_EQ(found[r].size(), expected[r].size()) << names[r];
    for (size_t i = 0; i < expected[r].size(); ++i) {
      if (!std::isnan(expected[r][i])) {
        ++numbers;
        ASSERT_NEAR(found[r][i], expected[r][i], 1e-5 * (1 + std::abs(expected[r][i])))
            << names[r] << " " << i;
      } else if (r == 0 && has_nan) {
        ASSERT_TRUE(std::isnan(found[r][i])) << names[r] << " " << i;
      }
    }
  }
  EXPECT_GT(numbers, 20u);
}

class MaskedValuesTest : public testing::TestWithParam<Path> {};

TEST_P(MaskedValuesTest, HaveNoEffectWhateverTheyAre) {
  for (const MaskChoice& chosen : mask_choices()) {
    for (const Poison& poison : poisons()) {
      // That the others have no gradient is no mask: the composed formulas, which only checks use,
      // do not know it.
      if (GetParam() == Path::kComposed && poison.first_queries_only) continue;
      Parts inputs;
      std::vector<double> d;
      poison_inputs({poison.where, NAN, poison.first_queries_only}, inputs, d);
      const Parts expected = by_definition(inputs, chosen.mask, d);
      poison_inputs(poison, inputs, d);
      for (const DType dtype : {DType::f32, DType::f64}) {
        SCOPED_TRACE(chosen.name + ": " + poison.where + " " + std::to_string(poison.value) +
                     (poison.first_queries_only ? ", the first queries " : " ") +
                     (dtype == DType::f32 ? "f32" : "f64"));
        expect_as_defined(by_attention(inputs, chosen, d, dtype, GetParam()), expected,
                          std::isnan(poison.value));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPath, MaskedValuesTest,
                         testing::Values(Path::kFused, Path::kCreateGraph, Path::kComposed,
                                         Path::kTraced));

TEST(SoftmaxTest, ANaNThatNoWeightMeetsDoesNotReachTheOthers) {
  for (const bool create_graph : {false, true}) {
    const Tensor x = leaf({3}, {1, -HUGE_VAL, 2});
    const Gradients g =
        backward(softmax(x), {.cotangent = constant({3}, {3.0, double{NAN}, 5.0}, DType::f64),
                              .create_graph = create_graph});
    const double p = 1 / (1 + std::exp(1.0));
    expect_near(g[x].to_vector(), {-2 * p * (1 - p), 0, 2 * p * (1 - p)}, 1e-15);
  }
}

TEST(CrossEntropyTest, AnIgnoredRowMayHoldAnything) {
  for (const bool is_composed : {false, true}) {
    for (const bool create_graph : {false, true}) {
      std::optional<ComposedOnly> composed;
      if (is_composed) composed.emplace();
      const Tensor x = leaf({2, 3}, {1, 2, 3, double{NAN}, HUGE_VAL, -HUGE_VAL});
      const Tensor factor = leaf({}, {1.0});
      const Tensor loss = cross_entropy(x, constant({2}, {0, -1}, DType::i64)) * factor;
      const Gradients g = backward(loss, {.create_graph = create_graph});
      const std::vector<double> dx = g[x].to_vector();
      for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(dx[i])) << i;
      EXPECT_EQ(std::vector<double>(dx.begin() + 3, dx.end()), std::vector<double>(3, 0.0));
      if (create_graph) {
        const Gradients second = backward(sum(g[x] * g[x]));
        EXPECT_TRUE(std::isfinite(second[factor].item()));
      }
    }
  }
}

}  // namespace
}  // namespace qkv
