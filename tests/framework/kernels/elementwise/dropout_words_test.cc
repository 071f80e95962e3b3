#include "framework/kernels/elementwise/dropout_words.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"

namespace qkv::kernels {
namespace {

using Words = std::array<uint32_t, 4>;

// The four words of block first + i.
Words block_of(const PhiloxBlocks& blocks, uint64_t first, int64_t i) {
  std::vector<uint32_t> words(4 * PhiloxBlocks::kBlocks);
  blocks.draw(first, words.data());
  Words block{};
  for (size_t w = 0; w < 4; ++w) {
    block[w] = words[w * PhiloxBlocks::kBlocks + static_cast<size_t>(i)];
  }
  return block;
}

// The known answers that Salmon et al. publish with their Random123 library, wherever in a vector
// their block stands.
TEST(PhiloxBlocksTest, GiveThePublishedAnswers) {
  struct Answer {
    uint64_t key, counter, high;
    Words words;
  };
  constexpr uint64_t kOnes = ~uint64_t{0};
  for (const Answer& a :
       {Answer{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        Answer{kOnes, kOnes, kOnes, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        Answer{0x299f31d0a4093822,
               0x85a308d3243f6a88,
               0x0370734413198a2e,
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    const PhiloxBlocks blocks(a.key, a.high);
    for (int64_t i = 0; i < PhiloxBlocks::kBlocks; ++i) {
      EXPECT_EQ(block_of(blocks, a.counter - static_cast<uint64_t>(i), i), a.words) << i;
    }
  }
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
  constexpr double kShare = 0.25;
  const RandomStream stream(12);
  for (const int64_t size : {1, 63, 64, 65, 1001, 4099}) {
    const Array x = Array::full({size}, DType::f32, 3.0);
    Array y({size}, DType::f32), mask({size}, DType::boolean);
    dropout(stream, kShare, x, y, mask);
    const std::vector<double> out = y.to_vector(), kept = mask.to_vector();
    for (size_t i = 0; i < out.size(); ++i) {
      const bool keeps = is_kept(stream, kShare, i);
      ASSERT_EQ(kept[i] != 0, keeps) << size << ", " << i;
      ASSERT_EQ(out[i], keeps ? 4.0 : 0.0) << size << ", " << i;
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
