#include "framework/kernels/random.h"

#include <algorithm>
#include <cmath>

#include "framework/kernels/mask.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kGrain = 4096;  // numbers worth a piece

constexpr int64_t kGroup = 64;  // words drawn at a time

// 32-bit words of a stream, many at a time: Philox as in core/random.h, under a key and a counter
// drawn from the stream, in loops that become vector instructions. Dropout needs one word for each
// element and nothing finer.
class Words {
 public:
  explicit Words(const RandomStream& stream) : key_(stream.bits_at(0)), high_(stream.bits_at(1)) {}

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
};

}  // namespace

void fill_normal(const RandomStream& stream, double mean, double standard_deviation, Array& y) {
  dispatch_floating("fill_normal", y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double z = stream.normal_at(static_cast<uint64_t>(i));
        out[i] = static_cast<T>(mean + standard_deviation * z);
      }
    });
  });
}

void fill_uniform(const RandomStream& stream, double low, double high, Array& y) {
  dispatch_floating("fill_uniform", y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double u = stream.uniform_at(static_cast<uint64_t>(i));
        out[i] = static_cast<T>(low + (high - low) * u);
      }
    });
  });
}

void dropout(const RandomStream& stream, double p, const Array& x, Array& y, Array& mask) {
  const Words words(stream);
  // A word is below it with probability p.
  const auto threshold = static_cast<uint32_t>(std::min(std::ldexp(p, 32), 0x1p32 - 1));
  dispatch_floating("dropout", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    uint8_t* keep = mutable_mask_bytes(mask);
    const T scale = static_cast<T>(1 / (1 - p));
    const int64_t size = x.size();
    const int64_t groups = (size + kGroup - 1) / kGroup;
    parallel_for(groups, kGrain / kGroup, [=](int64_t begin, int64_t end) {
      uint32_t drawn[kGroup];
      for (int64_t group = begin; group < end; ++group) {
        words.draw(static_cast<uint64_t>(group), drawn);
        const int64_t start = group * kGroup;
        const int64_t count = std::min(kGroup, size - start);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) {
          const T scaled = in[start + i] * scale;
          out[start + i] = drawn[i] >= threshold ? scaled : T(0);
        }
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) {
          keep[start + i] = drawn[i] >= threshold ? 1 : 0;
        }
      }
    });
  });
}

void dropout_backward(const Array& mask, double p, const Array& dy, Array& dx) {
  dispatch_floating("dropout_backward", dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const uint8_t* keep = mask_bytes(mask);
    const T* d = dy.data<T>();
    T* out = dx.mutable_data<T>();
    const T scale = static_cast<T>(1 / (1 - p));
    parallel_for(dy.size(), 4 * kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T scaled = d[i] * scale;
        out[i] = keep[i] != 0 ? scaled : T(0);
      }
    });
  });
}

}  // namespace qkv::kernels
