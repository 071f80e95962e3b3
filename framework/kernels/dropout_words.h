#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/core/random.h"
#include "framework/kernels/philox.h"

namespace qkv::kernels {

// Which elements dropout keeps: element i has the i-th 32-bit word of a stream, and is kept where
// the word is not below `threshold()`. Words are drawn many at a time: Philox under a key and a
// counter drawn from the stream.
class DropoutWords {
 public:
  static constexpr int64_t kGroup = 4 * PhiloxBlocks::kBlocks;  // words drawn at a time

  DropoutWords(const RandomStream& stream, double p)
      : blocks_(stream.bits_at(0), stream.bits_at(1)),
        threshold_(static_cast<uint32_t>(std::min(std::ldexp(p, 32), 0x1p32 - 1))) {}

  uint32_t threshold() const { return threshold_; }

  // Words kGroup * group … kGroup * (group + 1) - 1.
  void draw(uint64_t group, uint32_t* words) const {
    blocks_.draw(group * PhiloxBlocks::kBlocks, words);
  }

 private:
  PhiloxBlocks blocks_;
  uint32_t threshold_;
};

}  // namespace qkv::kernels
