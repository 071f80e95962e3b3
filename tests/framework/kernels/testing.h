#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "framework/core/array.h"
#include "framework/core/random.h"
#include "framework/kernels/elementwise.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/random.h"
#include "gtest/gtest.h"

namespace qkv::kernels {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Normal numbers that f32 holds exactly, in f64: casting them loses nothing.
inline Array normal(const Shape& shape, uint64_t seed) {
  Array narrow(shape, DType::f32);
  fill_normal(RandomStream(seed), 0, 1, narrow);
  Array wide(shape, DType::f64);
  cast(narrow, wide);
  return wide;
}

inline Array as(DType dtype, const Array& x) {
  Array y(x.shape(), dtype);
  cast(x, y);
  return y;
}

// Every element within `tolerance` of the expected one, relative to the larger of it and `scale`;
// infinities and NaNs the same.
inline void expect_close(const Array& actual, const Array& expected, double tolerance,
                         double scale = 1) {
  ASSERT_EQ(actual.size(), expected.size());
  const std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(e[i])) {
      ASSERT_LE(std::abs(a[i] - e[i]), tolerance * std::max(std::abs(e[i]), scale))
          << "element " << i << ": " << a[i] << " and not " << e[i];
    } else {
      ASSERT_TRUE(std::isnan(e[i]) ? std::isnan(a[i]) : a[i] == e[i])
          << "element " << i << ": " << a[i] << " and not " << e[i];
    }
  }
}

inline std::string bits(const Array& x) { return {static_cast<const char*>(x.raw()), x.bytes()}; }

// What `compute` returns has the same bits with one thread and with several.
inline void expect_same_bits_for_any_threads(const std::function<std::vector<Array>()>& compute) {
  set_num_threads(1);
  const std::vector<Array> one = compute();
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    const std::vector<Array> several = compute();
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(bits(one[i]) == bits(several[i])) << "result " << i << ", " << threads;
    }
  }
  set_num_threads(0);
}

}  // namespace qkv::kernels
