#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/core/random.h"

namespace qkv::kernels {

// Which elements dropout keeps: element i has the i-th 32-bit word of a stream, and is kept where
// the word is not below `threshold()`. Words are drawn many at a time: Philox as in core/random.h,
// under a key and a counter drawn from the stream, in loops that become vector instructions.
class DropoutWords {
 public:
  static constexpr int64_t kGroup = 64;  // words drawn at a time

  DropoutWords(const RandomStream& stream, double p)
      : key_(stream.bits_at(0)),
        high_(stream.bits_at(1)),
        threshold_(static_cast<uint32_t>(std::min(std::ldexp(p, 32), 0x1p32 - 1))) {}

  uint32_t threshold() const { return threshold_; }

  // Words kGroup * group … kGroup * (group + 1) - 1.
  void draw(uint64_t group, uint32_t* words) const {
    constexpr int kBlocks = kGroup / 4;
    uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
      const uint64_t block = group * kBlocks + static_cast<uint64_t>(i);
      c0[i] = low(block);
      c1[i] = high(block);
      c2[i] = low(high_);
      c3[i] = high(high_);
    }
    uint32_t k0 = low(key_), k1 = high(key_);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
#pragma omp simd
      for (int i = 0; i < kBlocks; ++i) {
        const uint64_t product0 = uint64_t{0xD2511F53} * c0[i];
        const uint64_t product1 = uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = high(product1) ^ c1[i] ^ k0;
        c1[i] = low(product1);
        c2[i] = high(product0) ^ c3[i] ^ k1;
        c3[i] = low(product0);
      }
    }
    std::copy_n(c0, kBlocks, words);
    std::copy_n(c1, kBlocks, words + kBlocks);
    std::copy_n(c2, kBlocks, words + int64_t{2} * kBlocks);
    std::copy_n(c3, kBlocks, words + int64_t{3} * kBlocks);
  }

 private:
  static uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  static uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }

  uint64_t key_, high_;
  uint32_t threshold_;
};

}  // namespace qkv::kernels
