#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/framework/kernels/rounded.h"
#include "tests/framework/kernels/testing.h"

// For the kernels in f32 against their formulas in f64, on random shapes: odd, 1, empty, and large
// enough to be shared among threads. The tolerance of every element is derived (rounded.h).

namespace qkv::kernels {

using Numbers = std::vector<double>;
using Expected = std::vector<Rounded>;

inline Array f32(const Shape& shape, uint64_t seed) { return as(DType::f32, normal(shape, seed)); }
inline Array empty_f32(const Shape& shape) { return Array(shape, DType::f32); }

// How many elements are farther from what is expected than rounding explains.
inline int64_t outside(const Array& actual, const Expected& expected) {
  const Numbers a = actual.to_vector();
  EXPECT_EQ(a.size(), expected.size());
  int64_t count = 0;
  for (size_t i = 0; i < a.size() && i < expected.size(); ++i) {
    if (std::abs(a[i] - expected[i].value) <= expected[i].error) continue;  // a NaN goes on
    if (count++ == 0) {
      ADD_FAILURE() << actual.describe() << ", element " << i << ": " << a[i] << " and not "
                    << expected[i].value << " ± " << expected[i].error;
    }
  }
  return count;
}

inline int64_t outside_quietly(const Array& actual, const Expected& expected) {
  const Numbers a = actual.to_vector();
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    count += !(std::abs(a[i] - expected[i].value) <= expected[i].error);
  }
  return count;
}

// Shapes of a few axes: sizes around the widths of vectors and of lanes, 0 and 1 among them; the
// last shapes are large.
inline std::vector<Shape> shapes(int rank, uint64_t seed) {
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 31, 33, 64, 65, 127, 130};
  RandomStream stream(seed);
  std::vector<Shape> result;
  for (int i = 0; i < 24; ++i) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t size = kSizes[stream.below(std::size(kSizes))];
      const int64_t small = rank > 2 ? std::min<int64_t>(size, 33) : size;
      shape = shape.inserted(0, small);
    }
    result.push_back(shape);
  }
  if (rank == 1) result.insert(result.end(), {{70001}, {1}, {0}});
  if (rank == 2) result.insert(result.end(), {{999, 67}, {3, 3001}, {20001, 3}, {1, 1}});
  if (rank == 3) result.insert(result.end(), {{5, 301, 67}, {301, 67, 5}, {2, 2000, 33}});
  return result;
}

inline Expected mapped(const Array& x, const std::function<Rounded(Rounded)>& f) {
  Expected result;
  for (const double v : x.to_vector()) result.push_back(f(v));
  return result;
}

inline Expected mapped(const Array& x, const Array& y,
                       const std::function<Rounded(Rounded, Rounded)>& f) {
  const Numbers a = x.to_vector(), b = y.to_vector();
  Expected result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i]));
  return result;
}

inline Array positive(const Array& x) {
  Numbers values = x.to_vector();
  for (double& v : values) v = static_cast<float>(v * v + 0.125);
  return Array::of(x.shape(), DType::f32, values);
}

// The constants of the kernels in f32 are rounded once.
inline Rounded constant(double value) { return {value, kUnit * std::abs(value)}; }

}  // namespace qkv::kernels
