#include "framework/kernels/norm.h"

#include <algorithm>
#include <cmath>

#include "framework/kernels/parallel.h"
#include "framework/kernels/reduce.h"
#include "framework/kernels/vector.h"

namespace qkv::kernels {
namespace {

int64_t norm_rows(int64_t width) { return piece_rows(width, 8192); }

// The mean of term(at) over a row (join_vectors).
template <class T, class Term>
T mean_over(int64_t n, Term term) {
  return sum_of_terms<T>(n, term) / static_cast<T>(n);
}

template <class T>
T mean_square(const T* x, T center, int64_t n) {
  return mean_over<T>(n, [=](auto at) { return (at(x) - center) * (at(x) - center); });
}

// Sums over rows are taken piece by piece; `partial` has a row for each piece.
Array partial_sums(int64_t pieces, int64_t width, DType dtype) {
  return Array::full(Shape{pieces, width}, dtype, 0);
}

}  // namespace

void layer_norm(const Array& x, const Array& weight, const Array& bias, double epsilon, Array& y,
                Array& mean, Array& rstd) {
  if (x.size() == 0) return;
  dispatch_floating("layer_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t n = x.shape()[-1];
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    const T* b = bias.data<T>();
    T* out = y.mutable_data<T>();
    T* means = mean.mutable_data<T>();
    T* rstds = rstd.mutable_data<T>();
    parallel_for(x.size() / n, norm_rows(n), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        T* yr = out + row * n;
        const T center = mean_over<T>(n, [=](auto at) { return at(xr); });
        const T r = T(1) / std::sqrt(mean_square(xr, center, n) + static_cast<T>(epsilon));
        means[row] = center;
        rstds[row] = r;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) yr[i] = (xr[i] - center) * r * w[i] + b[i];
      }
    });
  });
}

void layer_norm_backward(const Array& x, const Array& weight, const Array& mean, const Array& rstd,
                         const Array& dy, Array& dx, Array& dweight, Array& dbias) {
  dispatch_floating("layer_norm_backward", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t n = x.shape()[-1];
    if (n == 0) return;
    const int64_t rows = x.size() / n;
    const int64_t pieces = num_pieces(rows, norm_rows(n));
    Array partial_weight = partial_sums(pieces, n, x.dtype());
    Array partial_bias = partial_sums(pieces, n, x.dtype());
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    const T* means = mean.data<T>();
    const T* rstds = rstd.data<T>();
    const T* dout = dy.data<T>();
    T* din = dx.mutable_data<T>();
    T* partial_dw = partial_weight.mutable_data<T>();
    T* partial_db = partial_bias.mutable_data<T>();
    parallel_pieces(rows, norm_rows(n), [=](int64_t piece, int64_t begin, int64_t end) {
      T* dw = partial_dw + piece * n;
      T* db = partial_db + piece * n;
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        const T* dyr = dout + row * n;
        T* dxr = din + row * n;
        const T center = means[row];
        const T r = rstds[row];
        const T mean_sum = mean_over<T>(n, [=](auto at) { return at(dyr) * at(w); });
        const T mean_dot =
            mean_over<T>(n, [=](auto at) { return at(dyr) * at(w) * ((at(xr) - center) * r); });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T normal = (xr[i] - center) * r;
          const T d = dyr[i];
          dw[i] += d * normal;
          db[i] += d;
          dxr[i] = r * (d * w[i] - mean_sum - normal * mean_dot);
        }
      }
    });
    sum(partial_weight, 1, pieces, n, dweight);
    sum(partial_bias, 1, pieces, n, dbias);
  });
}

void rms_norm(const Array& x, const Array& weight, double epsilon, Array& y, Array& rstd) {
  if (x.size() == 0) return;
  dispatch_floating("rms_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t n = x.shape()[-1];
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    T* out = y.mutable_data<T>();
    T* rstds = rstd.mutable_data<T>();
    parallel_for(x.size() / n, norm_rows(n), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        T* yr = out + row * n;
        const T r = T(1) / std::sqrt(mean_square(xr, T(0), n) + static_cast<T>(epsilon));
        rstds[row] = r;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) yr[i] = xr[i] * r * w[i];
      }
    });
  });
}

void rms_norm_backward(const Array& x, const Array& weight, const Array& rstd, const Array& dy,
                       Array& dx, Array& dweight) {
  dispatch_floating("rms_norm_backward", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t n = x.shape()[-1];
    if (n == 0) return;
    const int64_t rows = x.size() / n;
    const int64_t pieces = num_pieces(rows, norm_rows(n));
    Array partial_weight = partial_sums(pieces, n, x.dtype());
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    const T* rstds = rstd.data<T>();
    const T* dout = dy.data<T>();
    T* din = dx.mutable_data<T>();
    T* partial_dw = partial_weight.mutable_data<T>();
    parallel_pieces(rows, norm_rows(n), [=](int64_t piece, int64_t begin, int64_t end) {
      T* dw = partial_dw + piece * n;
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        const T* dyr = dout + row * n;
        T* dxr = din + row * n;
        const T r = rstds[row];
        const T mean_dot = mean_over<T>(n, [=](auto at) { return at(dyr) * at(w) * (at(xr) * r); });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T normal = xr[i] * r;
          const T d = dyr[i];
          dw[i] += d * normal;
          dxr[i] = r * (d * w[i] - normal * mean_dot);
        }
      }
    });
    sum(partial_weight, 1, pieces, n, dweight);
  });
}

}  // namespace qkv::kernels
