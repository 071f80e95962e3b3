// The op beside its formula: every mask, bias and dropout, over more keys than a kernel holds.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kHeads = 2, kWidth = 3;

Tensor padding_of(int64_t batch, int64_t keys) {
  Array padding({batch, keys}, DType::boolean);
  for (int64_t i = 0; i < padding.size(); ++i) padding.mutable_data<bool>()[i] = i % 7 == 3;
  return Tensor(padding);
}

// The result and all gradients, one after the other.
std::vector<double> run(const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionOptions& options) {
  const Tensor y = attention(q, k, v, options);
  const Gradients g = backward(y, {.cotangent = cast(random(y.shape(), 33), y.dtype())});
  std::vector<double> all = y.to_vector();
  for (const Tensor& x : {q, k, v, options.mask.bias, options.mask.relative_bias}) {
    if (!x.defined() || !x.requires_grad()) continue;
    const std::vector<double> gradient = g[x].to_vector();
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  return all;
}

struct MaskCase {
  std::string name;
  AttentionMask mask;
  double dropout = 0.0;
};

// For 530 queries and 600 keys of two sequences: no multiples of what the kernel holds at a time.
std::vector<MaskCase> mask_cases(DType dtype) {
  const auto bias = [dtype](const Shape& shape, uint64_t seed) {
    return parameter(cast(random(shape, seed), dtype).array());
  };
  return {{"none", {}},
          {"causal", {.causal = true}},
          {"causal from the first key on", {.causal = true, .first_query = 0}},
          {"padding", {.padding = padding_of(2, 600)}},
          {"causal window", {.causal = true, .window = 37}},
          {"causal window of one", {.causal = true, .window = 1}},
          {"window", {.window = 300}},
          {"window, queries that see nothing", {.window = 5, .first_query = 600}},
          {"causal window, padding", {.causal = true, .window = 9, .padding = padding_of(2, 600)}},
          {"bias of a head", {.bias = bias({kHeads, 530, 600}, 34)}},
          {"bias of all, causal", {.causal = true, .bias = bias({530, 600}, 35)}},
          {"bias of a sequence's keys", {.window = 40, .bias = bias({2, 1, 1, 600}, 36)}},
          {"relative bias", {.relative_bias = bias({kHeads, 1129}, 37)}},
          {"relative bias, causal window",
           {.causal = true, .window = 40, .relative_bias = bias({kHeads, 1129}, 38)}},
          {"dropout", {}, 0.3},
          {"dropout, causal window", {.causal = true, .window = 100}, 0.1}};
}

TEST(FusedAttentionTest, LongSequencesAgreeWithTheComposedFormula) {
  // Scores that grow with the key: the largest of a row is found again in each block of keys.
  Tensor key = random({2, 600, kHeads, kWidth}, 31);
  for (int64_t i = 0; i < key.size(); ++i) {
    Array(key.array()).mutable_data<double>()[i] *= 1.0 + static_cast<double>(i / 6 % 600) / 100;
  }
  const Tensor q = parameter(random({2, 530, kHeads, kWidth}, 30).array()),
               k = parameter(key.array()),
               v = parameter(random({2, 600, kHeads, kWidth}, 32).array());
  for (const MaskCase& c : mask_cases(DType::f64)) {
    SCOPED_TRACE(c.name);
    const AttentionOptions options = {
        .mask = c.mask, .scale = 0.4, .dropout = c.dropout, .stream = RandomStream(9)};
    const std::vector<double> fused = run(q, k, v, options);
    const ComposedOnly composed;
    expect_near(fused, run(q, k, v, options), 1e-12);
  }
}

TEST(FusedAttentionTest, HasTheSameBitsWhateverTheNumberOfThreads) {
  const int threads = kernels::num_threads();
  const auto leaf = [](int64_t length, uint64_t seed) {
    return parameter(cast(random({2, length, kHeads, kWidth}, seed), DType::f32).array());
  };
  const Tensor q = leaf(530, 30), k = leaf(600, 31), v = leaf(600, 32);
  for (const MaskCase& c : mask_cases(DType::f32)) {
    // A bias's gradient is a sum over heads or sequences, which threads share.
    const bool has_bias = c.mask.bias.defined() || c.mask.relative_bias.defined();
    if (!has_bias && c.dropout == 0.0) continue;
    const AttentionOptions options = {
        .mask = c.mask, .scale = 0.4, .dropout = c.dropout, .stream = RandomStream(9)};
    kernels::set_num_threads(1);
    const std::vector<double> alone = run(q, k, v, options);
    kernels::set_num_threads(4);
    EXPECT_EQ(alone, run(q, k, v, options)) << c.name;
  }
  kernels::set_num_threads(threads);
}

TEST(FusedAttentionTest, KeysFarOutsideOfTheWindowChangeNoBit) {
  constexpr int64_t kLength = 4096;
  for (const bool causal : {true, false}) {
    const AttentionMask mask = {.causal = causal, .window = 8};
    const Tensor q = random({1, kLength, 1, 4}, 1), k = random({1, kLength, 1, 4}, 2);
    Tensor v = random({1, kLength, 1, 4}, 3);
    for (int64_t at = 0; at < kLength; at += 1024) {  // a query, and values far away from it
      Array strange = v.array().copy();
      for (int64_t i = 0; i < strange.size(); ++i) {
        if (std::abs(i / 4 - at) > 512) {
          strange.mutable_data<double>()[i] = std::numeric_limits<double>::quiet_NaN();
        }
      }
      const Tensor y = attention(q, k, v, {.mask = mask}),
                   z = attention(q, k, Tensor(strange), {.mask = mask});
      EXPECT_EQ(slice(y, 1, at, 1).to_vector(), slice(z, 1, at, 1).to_vector());
    }
  }
}

TEST(FusedAttentionTest, MemoryGrowsWithTheLengthAndNotWithItsSquare) {
  // How much several threads hold at once depends on the moment.
  kernels::set_num_threads(1);
  struct Case {
    std::string name;
    double dropout = 0.0;
    bool has_relative_bias = false;
    int64_t window = 0;
  };
  for (const Case& c : {Case{"causal"}, Case{"dropout", 0.1}, Case{"relative bias", 0.0, true},
                        Case{"relative bias, in a window", 0.0, true, 8}}) {
    SCOPED_TRACE(c.name);
    const auto peak_bytes = [&](int64_t length) {
      const Tensor x = parameter(random({1, length, kHeads, kWidth}, 20).array());
      AttentionMask mask = {.causal = true, .window = c.window};
      if (c.has_relative_bias) {
        mask.relative_bias = parameter(random({kHeads, 2 * length - 1}, 21).array());
      }
      reset_peak_bytes_in_use();
      const uint64_t before = allocator_statistics().bytes_in_use;
      const Tensor y = attention(x, x, x, {.mask = mask, .dropout = c.dropout});
      backward(y, {.cotangent = x.detached()});
      return allocator_statistics().peak_bytes_in_use - before;
    };
    const uint64_t half = peak_bytes(2048), whole = peak_bytes(4096);
    EXPECT_LT(whole, 3 * half);
    EXPECT_LT(whole, sizeof(double) * 4096 * 4096 / 10);  // a tenth of the scores of one head
  }
  kernels::set_num_threads(0);
}

// Three heads of queries for each of two of keys.
TEST(FusedAttentionTest, SharedHeadsGiveTheBitsOfRepeatedOnes) {
  const auto repeated = [](const Tensor& x) {
    const int64_t b = x.dim(0), t = x.dim(1), d = x.dim(3);
    return reshape(broadcast_to(reshape(x, {b, t, 2, 1, d}), {b, t, 2, 3, d}), {b, t, 6, d});
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const double dropout : {0.0, 0.3}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)));
      const AttentionOptions options = {.mask = {.causal = true}, .scale = 0.4, .dropout = dropout};
      const auto leaf = [&](const Shape& shape, uint64_t seed) {
        return parameter(cast(random(shape, seed), dtype).array());
      };
      const Tensor q = leaf({2, 20, 6, 5}, 1), k = leaf({2, 24, 2, 5}, 2),
                   v = leaf({2, 24, 2, 5}, 3);
      const auto all = [&](const Tensor& y) {
        const Gradients g = backward(y, {.cotangent = cast(random(y.shape(), 4), dtype)});
        return std::vector{y.to_vector(), g[q].to_vector(), g[k].to_vector(), g[v].to_vector()};
      };
      EXPECT_EQ(all(attention(q, k, v, options)),
                all(attention(q, repeated(k), repeated(v), options)));
    }
  }
}

TEST(FusedAttentionTest, SharedHeadsAreNotRepeatedInMemory) {
  const Tensor q = random({1, 1, 16, 64}, 1), k = random({1, 1024, 1, 64}, 2);
  kernels::set_num_threads(1);
  reset_peak_bytes_in_use();
  const uint64_t before = allocator_statistics().bytes_in_use;
  attention(q, k, k, {});
  EXPECT_LT(allocator_statistics().peak_bytes_in_use - before, sizeof(double) * 2 * k.size());
  kernels::set_num_threads(0);
}

TEST(HiddenKeysTest, AreThoseOutsideOfTheRange) {
  const auto rows = [](const AttentionMask& mask, int64_t queries, int64_t keys) {
    return hidden_keys(mask, queries, keys).to_vector();
  };
  using Rows = std::vector<double>;
  EXPECT_EQ(rows({.causal = true}, 2, 3), (Rows{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(rows({.causal = true, .first_query = 0}, 2, 3), (Rows{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(rows({.causal = true, .window = 2}, 3, 3), (Rows{0, 1, 1, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(rows({.window = 1}, 2, 2), (Rows{0, 1, 1, 0}));
  EXPECT_EQ(rows({.window = 2}, 2, 4), (Rows{1, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(rows({.window = std::numeric_limits<int64_t>::max()}, 1, 3), (Rows{0, 0, 0}));
  EXPECT_EQ(rows({.causal = true}, 3, 2), (Rows{1, 1, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace qkv
