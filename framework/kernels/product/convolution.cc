#include <algorithm>
#include <cstring>
#include <vector>

#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

// The taps that stand within a sequence, seen from position t: first … last - 1.
struct Taps {
  int64_t first, last;
};
Taps taps_within(int64_t t, int64_t kernel, int64_t before, int64_t length) {
  return {std::max<int64_t>(0, before - t), std::min(kernel, length - t + before)};
}

// weight [C, 1, K] -> [K, C], so that neighbours in memory are multiplied together; and back.
template <class T>
Array turned(const Array& weight) {
  const int64_t width = weight.shape()[0], kernel = weight.shape()[2];
  Array result({kernel, width}, weight.dtype());
  const T* from = weight.data<T>();
  T* to = result.mutable_data<T>();
  for (int64_t c = 0; c < width; ++c) {
    for (int64_t k = 0; k < kernel; ++k) to[k * width + c] = from[c * kernel + k];
  }
  return result;
}

// y[t] = start + sum_k w[k] x[t + k - before], for the rows of all sequences, w [K, C].
template <class T>
void convolve(const T* x, const T* w, const T* start, const Shape& shape, int64_t kernel,
              int64_t before, T* y) {
  const int64_t length = shape[1], width = shape[2];
  parallel_for(shape[0] * length, piece_rows(width * kernel), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* out = y + row * width;
      if (start) {
        std::copy_n(start, width, out);
      } else {
        std::fill_n(out, width, T(0));
      }
      const Taps taps = taps_within(row % length, kernel, before, length);
      for (int64_t k = taps.first; k < taps.last; ++k) {
        const T* in = x + (row + k - before) * width;
        const T* wk = w + k * width;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) out[c] += wk[c] * in[c];
      }
    }
  });
}

}  // namespace

void unfold(const Array& x, int64_t before, Array& windows) {
  if (windows.size() == 0) return;
  const int64_t length = x.shape()[1], width = x.shape()[2];
  const int64_t kernel = windows.shape()[2] / width;
  const auto bytes = static_cast<size_t>(width) * dtype_bytes(x.dtype());
  const auto* in = static_cast<const std::byte*>(x.raw());
  auto* out = static_cast<std::byte*>(windows.mutable_raw());
  parallel_for(x.shape()[0] * length, piece_rows(width * kernel), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Taps taps = taps_within(row % length, kernel, before, length);
      for (int64_t k = 0; k < kernel; ++k) {
        std::byte* to = out + static_cast<size_t>(row * kernel + k) * bytes;
        if (k >= taps.first && k < taps.last) {
          std::memcpy(to, in + static_cast<size_t>(row + k - before) * bytes, bytes);
        } else {
          std::memset(to, 0, bytes);
        }
      }
    }
  });
}

void fold(const Array& windows, int64_t before, Array& x) {
  if (x.size() == 0) return;
  dispatch_stored("fold", x.dtype(), [&]<class X>(X) {
    using T = Computed<X>;
    const int64_t length = x.shape()[1], width = x.shape()[2];
    const int64_t kernel = windows.shape()[2] / width;
    const X* in = windows.data<X>();
    X* out = x.mutable_data<X>();
    // Position s is tap k of position s - k + before: the same neighbours, in the other direction.
    const int64_t after = kernel - 1 - before;
    const int64_t grain = piece_rows(width * kernel);
    parallel_for(x.shape()[0] * length, grain, [=](int64_t begin, int64_t end) {
      std::vector<T> sums(static_cast<size_t>(width));
      T* sum = sums.data();
      for (int64_t row = begin; row < end; ++row) {
        std::fill_n(sum, width, T(0));
        const Taps turned_taps = taps_within(row % length, kernel, after, length);
        for (int64_t turned = turned_taps.first; turned < turned_taps.last; ++turned) {
          const int64_t k = kernel - 1 - turned;
          const X* tap = in + ((row - k + before) * kernel + k) * width;
#pragma omp simd
          for (int64_t c = 0; c < width; ++c) sum[c] += convert<T>(tap[c]);
        }
        X* to = out + row * width;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) to[c] = convert<X>(sum[c]);
      }
    });
  });
}

void depthwise_convolution(const Array& x, const Array& weight, const Array* bias, int64_t before,
                           Array& y) {
  if (y.size() == 0) return;
  dispatch_floating("depthwise_convolution", x.dtype(), [&]<class T>(T) {
    const Array w = turned<T>(weight);
    convolve(x.data<T>(), w.data<T>(), bias ? bias->data<T>() : nullptr, x.shape(),
             weight.shape()[2], before, y.mutable_data<T>());
  });
}

void depthwise_convolution_backward(const Array& x, const Array& weight, int64_t before,
                                    const Array& dy, Array& dx, Array& dweight) {
  if (weight.size() == 0) return;
  dispatch_floating("depthwise_convolution_backward", x.dtype(), [&]<class T>(T) {
    const int64_t length = x.shape()[1], width = x.shape()[2], kernel = weight.shape()[2];
    const Array forward = turned<T>(weight);
    Array backward({kernel, width}, x.dtype());
    T* last_tap = backward.mutable_data<T>() + (kernel - 1) * width;
    for (int64_t k = 0; k < kernel; ++k) {
      std::copy_n(forward.data<T>() + k * width, width, last_tap - k * width);
    }
    const T* dout = dy.data<T>();
    convolve(dout, backward.data<T>(), static_cast<const T*>(nullptr), x.shape(), kernel,
             kernel - 1 - before, dx.mutable_data<T>());

    // Sums over rows are taken piece by piece; `partial` has a row for each piece.
    const int64_t rows = x.shape()[0] * length;
    const int64_t grain = piece_rows(width * kernel);
    Array partial = Array::full({num_pieces(rows, grain), kernel, width}, x.dtype(), 0);
    const T* in = x.data<T>();
    T* partial_dw = partial.mutable_data<T>();
    parallel_pieces(rows, grain, [=](int64_t piece, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Taps taps = taps_within(row % length, kernel, before, length);
        const T* dyr = dout + row * width;
        for (int64_t k = taps.first; k < taps.last; ++k) {
          const T* xr = in + (row + k - before) * width;
          T* dw = partial_dw + (piece * kernel + k) * width;
#pragma omp simd
          for (int64_t c = 0; c < width; ++c) dw[c] += dyr[c] * xr[c];
        }
      }
    });
    Array dw({kernel, width}, x.dtype());
    sum(partial, 1, partial.shape()[0], kernel * width, dw);
    const T* from = dw.data<T>();
    T* to = dweight.mutable_data<T>();
    for (int64_t c = 0; c < width; ++c) {
      for (int64_t k = 0; k < kernel; ++k) to[c * kernel + k] = from[k * width + c];
    }
  });
}

}  // namespace qkv::kernels
