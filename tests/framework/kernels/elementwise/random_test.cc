#include <gtest/gtest.h>

#include <vector>

#include "framework/kernels/elementwise/dropout_words.h"
#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

TEST(RandomFill, ElementsAreTheNumbersOfTheStream) {
  const RandomStream stream = RandomStream(3).derive("weights");
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({10001}, dtype);
    fill_normal(stream, 1, 0.5, y);
    EXPECT_NEAR(y.to_vector()[0], 1 + 0.5 * stream.normal_at(0), 1e-6);
    EXPECT_NEAR(y.to_vector()[10000], 1 + 0.5 * stream.normal_at(10000), 1e-6);
    fill_uniform(stream, -2, 3, y);
    EXPECT_NEAR(y.to_vector()[9999], -2 + 5 * stream.uniform_at(9999), 1e-6);
  }
}

TEST(RandomFill, HasTheSameBitsForAnyThreads) {
  same_bits_for_any_threads([] {
    Array a({50001}, DType::f32), b({50001}, DType::f32), c({50001}, DType::f32);
    Array mask({50001}, DType::boolean);
    fill_normal(RandomStream(1), 0, 1, a);
    fill_uniform(RandomStream(2), 0, 1, b);
    dropout(RandomStream(3), 0.3, a, c, mask);
    return std::vector<Array>{a, b, c, mask};
  });
}

uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

// Word i of a stream, one at a time: words 0 … 15 of each 64 are the first words of 16 blocks,
// words 16 … 31 their second ones.
uint32_t word_at(const RandomStream& stream, uint64_t i) {
  const uint64_t key = stream.bits_at(0), above = stream.bits_at(1);
  const uint64_t block = i / 64 * 16 + i % 16;
  return philox({low(block), high(block), low(above), high(above)},
                {low(key), high(key)})[i % 64 / 16];
}

bool is_kept(const RandomStream& stream, double p, uint64_t i) {
  return static_cast<double>(word_at(stream, i)) >= p * 0x1p32;
}

TEST(DropoutWordsTest, AreThoseOfPhiloxOneAtATime) {
  const RandomStream stream = RandomStream(11).derive("dropout");
  const DropoutWords words(stream, 0.25);
  std::vector<uint32_t> drawn(DropoutWords::kGroup);
  for (const uint64_t group : {uint64_t{0}, uint64_t{1}, uint64_t{12345}, uint64_t{1} << 36}) {
    words.draw(group, drawn.data());
    for (size_t i = 0; i < drawn.size(); ++i) {
      ASSERT_EQ(drawn[i], word_at(stream, group * 64 + i)) << group << ", " << i;
    }
  }
}

TEST(DropoutWordsTest, DecideOnEveryElementOfAnArrayOfAnyLength) {
  const RandomStream stream(12);
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const double p : {0.0, 0.1, 0.25, 0.9}) {
      for (const int64_t size : {1, 63, 64, 65, 1001, 100003}) {
        SCOPED_TRACE(p);
        const Array x = Array::full({size}, dtype, 3.0);
        Array y({size}, dtype), mask({size}, DType::boolean), dx({size}, dtype);
        dropout(stream, p, x, y, mask);
        dropout_backward(mask, p, x, dx);
        const auto out = y.to_vector(), kept = mask.to_vector(), back = dx.to_vector();
        for (size_t i = 0; i < out.size(); ++i) {
          const bool keeps = is_kept(stream, p, i);
          ASSERT_EQ(kept[i] != 0, keeps) << size << ", " << i;
          ASSERT_NEAR(out[i], keeps ? 3.0 / (1.0 - p) : 0.0, 1e-5) << size << ", " << i;
          ASSERT_EQ(back[i], out[i]) << size << ", " << i;
        }
      }
    }
  }
}

// Equal scores: each key has weight 1 / Tk, and value j is the j-th unit vector, so that the output
// shows which weights are kept. No length is a multiple of what is drawn or computed at a time.
TEST(DropoutWordsTest, DecideOnEveryWeightOfAttention) {
  constexpr double kShare = 0.25;
  constexpr int64_t kBatch = 2, kQueries = 13, kKeys = 301, kHeads = 2;
  const RandomStream stream(13);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor q = zeros({kBatch, kQueries, kHeads, kKeys}, dtype);
    const Tensor k = zeros({kBatch, kKeys, kHeads, kKeys}, dtype);
    Array v({kBatch, kKeys, kHeads, kKeys}, DType::f64);
    for (int64_t i = 0; i < v.size(); ++i) {
      const int64_t key = i / (kHeads * kKeys) % kKeys;
      v.mutable_data<double>()[i] = i % kKeys == key ? 1.0 : 0.0;
    }
    const Tensor y = transpose(
        attention(q, k, cast(Tensor(v), dtype), {.dropout = kShare, .stream = stream}), 1, 2);
    const std::vector<double> weights = y.to_vector();  // [B, H, Tq, Tk]
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ(weights[i] != 0, is_kept(stream, kShare, i)) << i;
    }
  }
}

}  // namespace
}  // namespace qkv::kernels
