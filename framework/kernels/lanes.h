#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace qkv::kernels {

// term(0), term(1), … term(n - 1) joined side by side in kLanes results, which are joined at the
// end. The order is fixed, the loops become vector instructions, and the rounding errors of a sum
// grow with n / kLanes. `start` must be neutral: join(start, t) is t.
template <class T, class Term, class Join>
inline T join_lanes(int64_t n, T start, Term term, Join join) {
  constexpr int kLanes = 32;
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, start);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int k = 0; k < kLanes; ++k) lanes[k] = join(lanes[k], term(i + k));
  }
  const int rest = static_cast<int>(n - i);
#pragma omp simd
  for (int k = 0; k < rest; ++k) lanes[k] = join(lanes[k], term(i + k));
#pragma omp simd
  for (int k = 0; k < 16; ++k) lanes[k] = join(lanes[k], lanes[k + 16]);
#pragma omp simd
  for (int k = 0; k < 8; ++k) lanes[k] = join(lanes[k], lanes[k + 8]);
#pragma omp simd
  for (int k = 0; k < 4; ++k) lanes[k] = join(lanes[k], lanes[k + 4]);
  return join(join(lanes[0], lanes[1]), join(lanes[2], lanes[3]));
}

template <class T, class Term>
inline T sum_lanes(int64_t n, Term term) {
  return join_lanes(n, T(0), term, [](T a, T b) { return a + b; });
}

// The largest of x[0 … n - 1]; NaNs are passed over.
template <class T>
inline T max_lanes(const T* x, int64_t n) {
  return join_lanes(
      n, -std::numeric_limits<T>::infinity(), [x](int64_t i) { return x[i]; },
      [](T a, T b) { return b > a ? b : a; });
}

}  // namespace qkv::kernels
