#include <algorithm>

#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/dropout_words.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kRandomGrain = 4096;  // numbers worth a piece

}  // namespace

void fill_normal(const RandomStream& stream, double mean, double standard_deviation, Array& y) {
  dispatch_floating("fill_normal", y.dtype(), [&]<class T>(T) {
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kRandomGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double z = stream.normal_at(static_cast<uint64_t>(i));
        out[i] = static_cast<T>(mean + standard_deviation * z);
      }
    });
  });
}

void fill_uniform(const RandomStream& stream, double low, double high, Array& y) {
  dispatch_floating("fill_uniform", y.dtype(), [&]<class T>(T) {
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kRandomGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double u = stream.uniform_at(static_cast<uint64_t>(i));
        out[i] = static_cast<T>(low + (high - low) * u);
      }
    });
  });
}

void dropout(const RandomStream& stream, double p, const Array& x, Array& y, Array& mask) {
  constexpr int64_t kGroup = DropoutWords::kGroup;
  const DropoutWords words(stream, p);
  const uint32_t threshold = words.threshold();
  dispatch_floating("dropout", x.dtype(), [&]<class T>(T) {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    uint8_t* keep = mutable_mask_bytes(mask);
    const T scale = static_cast<T>(1 / (1 - ScalarOf<T>(p)));
    const int64_t size = x.size();
    const int64_t groups = (size + kGroup - 1) / kGroup;
    parallel_for(groups, kRandomGrain / kGroup, [=](int64_t begin, int64_t end) {
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
  dispatch_floating("dropout_backward", dy.dtype(), [&]<class T>(T) {
    const uint8_t* keep = mask_bytes(mask);
    const T* d = dy.data<T>();
    T* out = dx.mutable_data<T>();
    const T scale = static_cast<T>(1 / (1 - ScalarOf<T>(p)));
    parallel_for(dy.size(), 4 * kRandomGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T scaled = d[i] * scale;
        out[i] = keep[i] != 0 ? scaled : T(0);
      }
    });
  });
}

}  // namespace qkv::kernels
