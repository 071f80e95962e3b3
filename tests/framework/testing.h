#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/graph/tensor.h"
#include "framework/ops/support/op_examples.h"

namespace qkv {

// The text of the Error that `misuse` throws; "" when it throws none.
inline std::string error_of(const std::function<void()>& misuse) {
  try {
    misuse();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline void expect_error(const std::string& message, const std::function<void()>& misuse) {
  EXPECT_EQ(error_of(misuse), message);
}

// A leaf of f64.
inline Tensor leaf(const Shape& shape, const std::vector<double>& values) {
  return parameter(Array::of(shape, DType::f64, values));
}

inline Tensor normal_like(const Tensor& x, uint64_t seed) {
  RandomStream stream(seed);
  std::vector<double> values(static_cast<size_t>(x.size()));
  std::ranges::generate(values, [&] { return stream.normal(); });
  return Tensor(Array::of(x.shape(), x.dtype(), values));
}

// Constants of f64, mean 0.
inline Tensor random(const Shape& shape, uint64_t seed, double deviation = 1.0) {
  RandomStream stream(seed);
  std::vector<double> values(static_cast<size_t>(shape.size()));
  std::ranges::generate(values, [&] { return deviation * stream.normal(); });
  return Tensor(Array::of(shape, DType::f64, values));
}

inline void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                        double tolerance, const std::string& what = "element") {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << what << " " << i;
}

inline void expect_near(const Tensor& a, const Tensor& b, double tolerance,
                        const std::string& what = "element") {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  expect_near(a.to_vector(), b.to_vector(), tolerance, what);
}

// Every element agrees within the tolerance; of one shape; a NaN agrees with nothing.
inline void expect_close(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape())
      << actual.describe() << " and not " << expected.describe();
  const std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  for (size_t i = 0; i < a.size(); ++i) {
    const double largest = std::max(std::abs(a[i]), std::abs(e[i]));
    ASSERT_LE(std::abs(a[i] - e[i]), tolerance.absolute + tolerance.relative * largest)
        << "element " << i << ": " << a[i] << " and not " << e[i];
  }
}

inline std::string bits(const Tensor& x) {
  return {static_cast<const char*>(x.array().raw()), x.array().bytes()};
}

}  // namespace qkv
