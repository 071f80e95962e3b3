#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

template <class T>
int64_t norm_rows(int64_t width) {
  return piece_rows(width, kGrainOf<T> / 2);
}

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

// Both norms: y = (x - mean) rstd weight + bias. A layer norm is centred; an rms norm is not, and
// has neither a mean nor a bias.
template <bool kCentred>
void normalize(const char* op, const Array& x, const Array& weight, const Array* bias,
               double epsilon, Array& y, Array* mean, Array& rstd) {
  if (x.size() == 0) return;
  dispatch_floating(op, x.dtype(), [&]<class T>(T) {
    const int64_t n = x.shape()[-1];
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    const T* b = kCentred ? bias->data<T>() : nullptr;
    T* out = y.mutable_data<T>();
    T* means = kCentred ? mean->mutable_data<T>() : nullptr;
    T* rstds = rstd.mutable_data<T>();
    parallel_for(x.size() / n, norm_rows<T>(n), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        T* yr = out + row * n;
        const T center = kCentred ? mean_over<T>(n, [=](auto at) { return at(xr); }) : T(0);
        const T r = T(1) / math::sqrt(mean_square(xr, center, n) + static_cast<T>(epsilon));
        if constexpr (kCentred) means[row] = center;
        rstds[row] = r;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T scaled = (xr[i] - center) * r * w[i];
          yr[i] = kCentred ? scaled + b[i] : scaled;
        }
      }
    });
  });
}

template <bool kCentred>
void normalize_backward(const char* op, const Array& x, const Array& weight, const Array* mean,
                        const Array& rstd, const Array& dy, Array& dx, Array& dweight,
                        Array* dbias) {
  dispatch_floating(op, x.dtype(), [&]<class T>(T) {
    const int64_t n = x.shape()[-1];
    if (n == 0) return;
    const int64_t rows = x.size() / n;
    const int64_t pieces = num_pieces(rows, norm_rows<T>(n));
    Array partial_weight = partial_sums(pieces, n, x.dtype());
    Array partial_bias = kCentred ? partial_sums(pieces, n, x.dtype()) : Array();
    const T* in = x.data<T>();
    const T* w = weight.data<T>();
    const T* means = kCentred ? mean->data<T>() : nullptr;
    const T* rstds = rstd.data<T>();
    const T* dout = dy.data<T>();
    T* din = dx.mutable_data<T>();
    T* partial_dw = partial_weight.mutable_data<T>();
    T* partial_db = kCentred ? partial_bias.mutable_data<T>() : nullptr;
    parallel_pieces(rows, norm_rows<T>(n), [=](int64_t piece, int64_t begin, int64_t end) {
      T* dw = partial_dw + piece * n;
      T* db = kCentred ? partial_db + piece * n : nullptr;
      for (int64_t row = begin; row < end; ++row) {
        const T* xr = in + row * n;
        const T* dyr = dout + row * n;
        T* dxr = din + row * n;
        const T center = kCentred ? means[row] : T(0);
        const T r = rstds[row];
        const T mean_sum =
            kCentred ? mean_over<T>(n, [=](auto at) { return at(dyr) * at(w); }) : T(0);
        const T mean_dot =
            mean_over<T>(n, [=](auto at) { return at(dyr) * at(w) * ((at(xr) - center) * r); });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const T normal = (xr[i] - center) * r;
          const T d = dyr[i];
          dw[i] += d * normal;
          if constexpr (kCentred) db[i] += d;
          dxr[i] = r * (d * w[i] - mean_sum - normal * mean_dot);
        }
      }
    });
    sum(partial_weight, 1, pieces, n, dweight);
    if constexpr (kCentred) sum(partial_bias, 1, pieces, n, *dbias);
  });
}

}  // namespace

void layer_norm(const Array& x, const Array& weight, const Array& bias, double epsilon, Array& y,
                Array& mean, Array& rstd) {
  normalize<true>("layer_norm", x, weight, &bias, epsilon, y, &mean, rstd);
}

void layer_norm_backward(const Array& x, const Array& weight, const Array& mean, const Array& rstd,
                         const Array& dy, Array& dx, Array& dweight, Array& dbias) {
  normalize_backward<true>("layer_norm_backward", x, weight, &mean, rstd, dy, dx, dweight, &dbias);
}

void rms_norm(const Array& x, const Array& weight, double epsilon, Array& y, Array& rstd) {
  normalize<false>("rms_norm", x, weight, nullptr, epsilon, y, nullptr, rstd);
}

void rms_norm_backward(const Array& x, const Array& weight, const Array& rstd, const Array& dy,
                       Array& dx, Array& dweight) {
  normalize_backward<false>("rms_norm_backward", x, weight, nullptr, rstd, dy, dx, dweight,
                            nullptr);
}

}  // namespace qkv::kernels
