#include "framework/kernels/norm.h"

#include <cmath>

#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

constexpr double kEpsilon = 1e-5;
const Shape kShapes[] = {{1, 2}, {5, 7}, {768, 128}, {3, 1}, {300, 65}, {0, 8}};

// Everything of both norms, from the formulas in norm.h. The second, rms, has mean 0.
struct Norm {
  Array y, mean, rstd, dx, dweight, dbias;
};

Norm defined(const Array& x, const Array& weight, const Array* bias, const Array& dy) {
  const int64_t n = x.shape()[-1], rows = x.size() / n;
  Norm r{Array(x.shape(), DType::f64),    Array({rows}, DType::f64),
         Array({rows}, DType::f64),       Array(x.shape(), DType::f64),
         Array::full({n}, DType::f64, 0), Array::full({n}, DType::f64, 0)};
  const double* w = weight.data<double>();
  for (int64_t row = 0; row < rows; ++row) {
    const double* xr = x.data<double>() + row * n;
    const double* dyr = dy.data<double>() + row * n;
    double mean = 0, variance = 0, sum = 0, dot = 0;
    if (bias) {
      for (int64_t i = 0; i < n; ++i) mean += xr[i] / static_cast<double>(n);
    }
    for (int64_t i = 0; i < n; ++i) {
      variance += (xr[i] - mean) * (xr[i] - mean) / static_cast<double>(n);
    }
    const double rstd = 1 / std::sqrt(variance + kEpsilon);
    for (int64_t i = 0; i < n; ++i) {
      const double normed = (xr[i] - mean) * rstd;
      r.y.mutable_data<double>()[row * n + i] =
          normed * w[i] + (bias ? bias->data<double>()[i] : 0);
      r.dweight.mutable_data<double>()[i] += dyr[i] * normed;
      r.dbias.mutable_data<double>()[i] += dyr[i];
      sum += dyr[i] * w[i] / static_cast<double>(n);
      dot += dyr[i] * w[i] * normed / static_cast<double>(n);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double normed = (xr[i] - mean) * rstd;
      r.dx.mutable_data<double>()[row * n + i] =
          rstd * (dyr[i] * w[i] - (bias ? sum : 0) - normed * dot);
    }
    r.mean.mutable_data<double>()[row] = mean;
    r.rstd.mutable_data<double>()[row] = rstd;
  }
  return r;
}

TEST(Norm, LayerNormAndItsGradientsAreTheirFormulas) {
  for (const Shape& shape : kShapes) {
    const int64_t rows = shape[0], n = shape[1];
    const Array x = normal(shape, 1), dy = normal(shape, 2), w = normal({n}, 3), b = normal({n}, 4);
    const Norm e = defined(x, w, &b, dy);
    for (const DType dtype : {DType::f64, DType::f32}) {
      SCOPED_TRACE(x.describe());
      const double tolerance = dtype == DType::f64 ? 1e-11 : 1e-5;
      Array y(shape, dtype), mean({rows}, dtype), rstd({rows}, dtype);
      layer_norm(as(dtype, x), as(dtype, w), as(dtype, b), kEpsilon, y, mean, rstd);
      // One column is all mean: its rstd is 1 / sqrt(epsilon), and nothing is exact but its y.
      expect_close(y, e.y, tolerance);
      expect_close(mean, e.mean, tolerance);
      expect_close(rstd, e.rstd, tolerance);
      Array dx(shape, dtype), dw({n}, dtype), db({n}, dtype);
      layer_norm_backward(as(dtype, x), as(dtype, w), as(dtype, e.mean), as(dtype, e.rstd),
                          as(dtype, dy), dx, dw, db);
      expect_close(dx, e.dx, tolerance, 300);
      expect_close(dw, e.dweight, tolerance, 30);
      expect_close(db, e.dbias, tolerance, 30);
    }
  }
}

TEST(Norm, RmsNormAndItsGradientsAreTheirFormulas) {
  for (const Shape& shape : kShapes) {
    const int64_t rows = shape[0], n = shape[1];
    const Array x = normal(shape, 1), dy = normal(shape, 2), w = normal({n}, 3);
    const Norm e = defined(x, w, nullptr, dy);
    for (const DType dtype : {DType::f64, DType::f32}) {
      SCOPED_TRACE(x.describe());
      const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
      Array y(shape, dtype), rstd({rows}, dtype), dx(shape, dtype), dw({n}, dtype);
      rms_norm(as(dtype, x), as(dtype, w), kEpsilon, y, rstd);
      expect_close(y, e.y, tolerance);
      expect_close(rstd, e.rstd, tolerance);
      rms_norm_backward(as(dtype, x), as(dtype, w), as(dtype, e.rstd), as(dtype, dy), dx, dw);
      expect_close(dx, e.dx, tolerance);
      expect_close(dw, e.dweight, tolerance, 30);
    }
  }
}

// The variance of 10000 ± 0.01 is lost in f32 by the mean of squares less the square of the mean.
TEST(Norm, AFarMeanDoesNotHideTheVariance) {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back(10000 + (i % 2 == 0 ? 0.015625 : -0.015625));
  const Array x = Array::of({1, 64}, DType::f32, values);
  const Array one = Array::full({64}, DType::f32, 1), zero = Array::full({64}, DType::f32, 0);
  Array y({1, 64}, DType::f32), mean({1}, DType::f32), rstd({1}, DType::f32);
  layer_norm(x, one, zero, 0, y, mean, rstd);
  for (int i = 0; i < 64; ++i) {
    EXPECT_NEAR(y.to_vector()[static_cast<size_t>(i)], i % 2 == 0 ? 1 : -1, 1e-6);
  }
}

TEST(Norm, HasTheSameBitsForAnyThreads) {
  const Array x = as(DType::f32, normal({1000, 96}, 1)), dy = as(DType::f32, normal({1000, 96}, 2));
  const Array w = as(DType::f32, normal({96}, 3));
  expect_same_bits_for_any_threads([&] {
    Array y(x.shape(), DType::f32), dx(x.shape(), DType::f32), dw({96}, DType::f32);
    Array db({96}, DType::f32), mean({1000}, DType::f32), rstd({1000}, DType::f32);
    Array z(x.shape(), DType::f32), dz(x.shape(), DType::f32), dv({96}, DType::f32);
    layer_norm(x, w, w, kEpsilon, y, mean, rstd);
    layer_norm_backward(x, w, mean, rstd, dy, dx, dw, db);
    rms_norm(x, w, kEpsilon, z, rstd);
    rms_norm_backward(x, w, rstd, dy, dz, dv);
    return std::vector<Array>{y, dx, dw, db, mean, rstd, z, dz, dv};
  });
}

}  // namespace
}  // namespace qkv::kernels
