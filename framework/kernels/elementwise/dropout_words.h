#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "framework/core/random.h"
#include "framework/kernels/elementwise/vector.h"

namespace qkv::kernels {

// Lanes of 64 bits; only the low 32 bits count, the high ones may be anything.
using Lanes = Vector<uint64_t>;

// The products of the low halves, all 64 bits of them. From such a loop g++ 12 makes three
// multiplications and more, or one among a dozen permutations: it takes 3 times as long.
inline Lanes product_of_low_halves(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  // With a mask of all lanes: g++ 12 warns of undefined lanes in its header for the plain form.
  return reinterpret_cast<Lanes>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && !defined(__AVX__)
  return reinterpret_cast<Lanes>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

// The low halves of both, side by side.
template <int... kPlace>
inline Vector<uint32_t> low_halves(Lanes a, Lanes b, std::integer_sequence<int, kPlace...>) {
  return __builtin_shufflevector(reinterpret_cast<Vector<uint32_t>>(a),
                                 reinterpret_cast<Vector<uint32_t>>(b), (2 * kPlace)...);
}

// Philox 4x32-10 as in core/random.h, for a vector of counters at a time.
class PhiloxBlocks {
 public:
  static constexpr int64_t kBlocks = 16;

  // The low words of key and counter first: the counter of block b is (b, high).
  PhiloxBlocks(uint64_t key, uint64_t high) : high_(high) {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (Round& round : rounds_) {
      round = {k0, k1};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  // words[kBlocks w + i] = word w of block first + i
  void draw(uint64_t first, uint32_t* words) const {
    constexpr int kLanes = kVectorLength<uint64_t>;
    Lanes place;
    for (int i = 0; i < kLanes; ++i) place[i] = static_cast<uint64_t>(i);
    for (int i = 0; i < kBlocks; i += 2 * kLanes) {
      Lanes c0[2], c1[2], c2[2], c3[2];
      for (int v = 0; v < 2; ++v) {
        c0[v] = place + (first + static_cast<uint64_t>(i + v * kLanes));
        c1[v] = c0[v] >> 32;
        c2[v] = Lanes{} + high_;
        c3[v] = c2[v] >> 32;
      }
#pragma GCC unroll 10
      for (const Round& round : rounds_) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          const Lanes product0 = product_of_low_halves(c0[v], Lanes{} + 0xD2511F53);
          const Lanes product1 = product_of_low_halves(c2[v], Lanes{} + 0xCD9E8D57);
          c0[v] = (product1 >> 32) ^ c1[v] ^ round.k0;
          c1[v] = product1;
          c2[v] = (product0 >> 32) ^ c3[v] ^ round.k1;
          c3[v] = product0;
        }
      }
      const auto store = [&](int word, const Lanes(&c)[2]) {
        vector_at(words + word * kBlocks + i) =
            low_halves(c[0], c[1], std::make_integer_sequence<int, 2 * kLanes>());
      };
      store(0, c0);
      store(1, c1);
      store(2, c2);
      store(3, c3);
    }
  }

 private:
  struct Round {
    uint64_t k0, k1;
  };

  std::array<Round, 10> rounds_{};
  uint64_t high_;
};

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
