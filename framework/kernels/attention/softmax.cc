#include <algorithm>

#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kSoftmaxGrain = 8192;  // elements worth a piece

// Calls f(row) for the rows of x [rows, C].
template <class F>
void for_each_row(const Array& x, F f) {
  if (x.size() == 0) return;
  const int64_t width = x.shape()[-1];
  const int64_t grain = x.dtype() == DType::f128 ? kGrainOf<Float128> : kSoftmaxGrain;
  parallel_for(x.size() / width, piece_rows(width, grain), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

// The number subtracted from a row before exp: its maximum; 0 in a fully masked row, so that every
// exp is 0 there and not NaN. A NaN in the row is found by the sum of the exps.
template <class T>
T shift_of(const T* x, int64_t n) {
  const T largest = largest_of(x, n);
  return largest == -kInfinityOf<T> ? T(0) : largest;
}

template <class T>
T sum_of_exp(const T* x, T shift, int64_t n) {
  return sum_of_computed<T>(n, [=](int64_t i) { return math::exp(x[i] - shift); });
}

// The formula where a number is inf or NaN: what has no weight, or no gradient, has no part in it.
template <class T>
void softmax_backward_of_seen(const T* y, const T* dy, int64_t n, T* dx) {
  const auto product = [](T a, T b) { return a == T(0) || b == T(0) ? T(0) : a * b; };
  T dot = 0;
  for (int64_t i = 0; i < n; ++i) dot += product(y[i], dy[i]);
  for (int64_t i = 0; i < n; ++i) dx[i] = product(y[i], dy[i] - dot);
}

template <class T>
void softmax_row(const T* x, int64_t n, T* y) {
  const T shift = shift_of(x, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - shift);
  const T sum = sum_of(y, n);
  const T inverse = sum == T(0) ? T(0) : T(1) / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] *= inverse;
  for (int64_t i = 0; sum != sum && i < n; ++i) {  // no masked element gives a NaN
    if (x[i] == -kInfinityOf<T>) y[i] = T(0);
  }
}

template <class T>
void softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  const T dot = sum_of_terms<T>(n, [=](auto at) { return at(y) * at(dy); });
  if (!(dot - dot == T(0))) return softmax_backward_of_seen(y, dy, n, dx);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

template <class T>
void log_softmax_row(const T* x, int64_t n, T* y) {
  const T shift = shift_of(x, n);
  const T sum = sum_of_exp(x, shift, n);
  const T log_sum = sum == T(0) ? T(0) : math::log(sum);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift) - log_sum;
}

template <class T>
void log_softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  const T total = sum_of(dy, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - math::exp(y[i]) * total;
}

// Every row of x by f(row, its length, row of y).
template <class Row>
void map_rows(const char* name, const Array& x, Array& y, Row f) {
  dispatch_floating(name, x.dtype(), [&]<class T>(T) {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    const int64_t n = x.shape()[-1];
    for_each_row(x, [=](int64_t row) { f(in + row * n, n, out + row * n); });
  });
}

// Every row of y and dy by f(row, row, their length, row of dx).
template <class Row>
void map_rows_back(const char* name, const Array& y, const Array& dy, Array& dx, Row f) {
  dispatch_floating(name, y.dtype(), [&]<class T>(T) {
    const T* in = y.data<T>();
    const T* d = dy.data<T>();
    T* out = dx.mutable_data<T>();
    const int64_t n = y.shape()[-1];
    for_each_row(y, [=](int64_t row) { f(in + row * n, d + row * n, n, out + row * n); });
  });
}

}  // namespace

void softmax(const Array& x, Array& y) {
  map_rows("softmax", x, y, [](auto... row) { softmax_row(row...); });
}

void softmax_backward(const Array& y, const Array& dy, Array& dx) {
  map_rows_back("softmax_backward", y, dy, dx, [](auto... row) { softmax_backward_row(row...); });
}

void log_softmax(const Array& x, Array& y) {
  map_rows("log_softmax", x, y, [](auto... row) { log_softmax_row(row...); });
}

void log_softmax_backward(const Array& y, const Array& dy, Array& dx) {
  map_rows_back("log_softmax_backward", y, dy, dx,
                [](auto... row) { log_softmax_backward_row(row...); });
}

void cross_entropy(const Array& logits, const Array& targets, int64_t ignored, double smoothing,
                   Array& loss, Array& log_sum_exp) {
  dispatch_floating("cross_entropy", logits.dtype(), [&]<class T>(T) {
    const T* in = logits.data<T>();
    const int64_t* target = targets.data<int64_t>();
    T* out = loss.mutable_data<T>();
    T* lse = log_sum_exp.mutable_data<T>();
    const int64_t classes = logits.shape()[-1];
    const T s = static_cast<T>(smoothing);
    for_each_row(logits, [=](int64_t row) {
      if (target[row] == ignored) {
        out[row] = lse[row] = 0;
        return;
      }
      const T* x = in + row * classes;
      const T shift = shift_of(x, classes);
      const T sum = sum_of_exp(x, shift, classes);
      const T log_sum = sum == T(0) ? T(0) : math::log(sum);  // 0: all are -inf
      lse[row] = shift + log_sum;
      // -log p[c] = log_sum - (x[c] - shift), small differences first
      T expected = x[target[row]] - shift;
      if (s != 0) {
        const T total = sum_of_terms<T>(classes, [=](auto at) { return at(x) - shift; });
        expected = (T(1) - s) * expected + s * total / static_cast<T>(classes);
      }
      out[row] = log_sum - expected;
    });
  });
}

void cross_entropy_backward(const Array& logits, const Array& targets, const Array& log_sum_exp,
                            int64_t ignored, double smoothing, const Array& dloss, Array& dlogits) {
  dispatch_floating("cross_entropy_backward", logits.dtype(), [&]<class T>(T) {
    const T* in = logits.data<T>();
    const int64_t* target = targets.data<int64_t>();
    const T* lse = log_sum_exp.data<T>();
    const T* d = dloss.data<T>();
    T* out = dlogits.mutable_data<T>();
    const int64_t classes = logits.shape()[-1];
    const T spread = static_cast<T>(ScalarOf<T>(smoothing) / static_cast<ScalarOf<T>>(classes));
    const T peak = static_cast<T>(1 - ScalarOf<T>(smoothing));
    for_each_row(logits, [=](int64_t row) {
      const T* x = in + row * classes;
      T* dx = out + row * classes;
      if (target[row] == ignored) {
        std::fill_n(dx, classes, T(0));
        return;
      }
      const T shift = lse[row];
      const T scale = d[row];
#pragma omp simd
      for (int64_t c = 0; c < classes; ++c) dx[c] = (math::exp(x[c] - shift) - spread) * scale;
      dx[target[row]] -= peak * scale;
    });
  });
}

}  // namespace qkv::kernels
