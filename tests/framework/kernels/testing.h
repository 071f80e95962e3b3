#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "framework/core/array.h"
#include "framework/core/random.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "gtest/gtest.h"
#include "tests/framework/kernels/rounded.h"

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

// What `compute` gives, which has the same bits with one thread and with several.
inline std::vector<Array> same_bits_for_any_threads(
    const std::function<std::vector<Array>()>& compute) {
  set_num_threads(1);
  std::vector<Array> one = compute();
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    const std::vector<Array> several = compute();
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(bits(one[i]) == bits(several[i])) << "result " << i << ", " << threads;
    }
  }
  set_num_threads(0);
  return one;
}

// Shapes of a few axes: sizes around the widths of vectors and of lanes, 0 and 1 among them; the
// last shapes are large enough to be shared among threads.
inline std::vector<Shape> shapes(int rank, uint64_t seed) {
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 31, 33, 64, 65, 127, 130};
  std::vector<Shape> result;
  if (rank == 1) {
    for (const int64_t size : kSizes) result.push_back({size});
    result.push_back({70001});
    return result;
  }
  RandomStream stream(seed);
  for (int i = 0; i < 24; ++i) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t size = kSizes[stream.below(std::size(kSizes))];
      shape = shape.inserted(0, rank > 2 ? std::min<int64_t>(size, 33) : size);
    }
    result.push_back(shape);
  }
  if (rank == 2) result.insert(result.end(), {{999, 67}, {3, 3001}, {20001, 3}, {1, 1}});
  if (rank == 3) result.insert(result.end(), {{5, 301, 67}, {301, 67, 5}, {2, 2000, 33}});
  return result;
}

// The formula of each element, and how far from it a result in f32 may be (rounded.h). One in f64
// may be 2⁻²⁹ times as far from it, and so may the formula itself.
using Expected = std::vector<Rounded>;

// "" where every element is as close to what is expected as rounding explains, or else the first
// that is not.
inline std::string outside(const Array& actual, const Expected& expected) {
  const std::vector<double> a = actual.to_vector();
  EXPECT_EQ(a.size(), expected.size());
  const double unit = actual.dtype() == DType::f64 ? 2 * 0x1p-29 : 1.0;
  for (size_t i = 0; i < a.size() && i < expected.size(); ++i) {
    if (std::abs(a[i] - expected[i].value) <= unit * expected[i].error) continue;  // not of a NaN
    std::ostringstream text;
    text << actual.describe() << ", element " << i << ": " << a[i] << " and not "
         << expected[i].value << " ± " << unit * expected[i].error;
    return text.str();
  }
  return "";
}

// The numbers of an array, from which a formula begins.
inline auto exact(const Array& x) {
  return [values = x.to_vector()](int64_t i) { return Rounded(values[static_cast<size_t>(i)]); };
}

inline Expected mapped(const Array& x, const std::function<Rounded(Rounded)>& f) {
  Expected result;
  for (const double v : x.to_vector()) result.push_back(f(v));
  return result;
}

inline Expected mapped(const Array& x, const Array& y,
                       const std::function<Rounded(Rounded, Rounded)>& f) {
  const auto a = exact(x), b = exact(y);
  Expected result;
  for (int64_t i = 0; i < x.size(); ++i) result.push_back(f(a(i), b(i)));
  return result;
}

// Numbers of f32, in the type of x.
inline Array positive(const Array& x) {
  std::vector<double> values = x.to_vector();
  for (double& v : values) v = static_cast<float>(v * v + 0.125);
  return Array::of(x.shape(), x.dtype(), values);
}

// The constants of the kernels are rounded once.
inline Rounded constant(double value) { return {value, kUnit * std::abs(value)}; }

}  // namespace qkv::kernels
