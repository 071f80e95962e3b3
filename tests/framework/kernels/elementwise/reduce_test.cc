#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

struct Sizes {
  int64_t outer, n, inner;
};

std::vector<Sizes> sizes() {
  std::vector<Sizes> all = {{1, 1, 1},    {1, 100003, 1}, {768, 65, 1}, {1, 768, 128},
                            {2, 33, 300}, {1, 70, 2000},  {9, 100, 1},  {16, 1000, 2}};
  for (const Shape& shape : shapes(3, 7)) all.push_back({shape[0], shape[1], shape[2]});
  return all;
}

TEST(Reduce, SumIsWithinTheBoundOfItsLengthAndHasTheSameBits) {
  for (const Sizes& s : sizes()) {
    const Array wide = normal({s.outer, s.n, s.inner}, 1);
    const auto at = exact(wide);
    Expected expected;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        expected.push_back(sum(s.n, [&](int64_t k) { return at((o * s.n + k) * s.inner + j); }));
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = as(dtype, wide);
      const std::vector<Array> sums = same_bits_for_any_threads([&] {
        Array y({s.outer, s.inner}, dtype);
        sum(x, s.outer, s.n, s.inner, y);
        return std::vector{y};
      });
      EXPECT_EQ(outside(sums[0], expected), "") << x.describe();
    }
  }
}

// One added to 2^24 in f32 is lost; a plain loop would stop there.
TEST(Reduce, LongSumsInF32KeepTheirAccuracy) {
  constexpr int64_t kCount = 20'000'000;
  const Array ones = Array::full({kCount}, DType::f32, 1);
  Array y({1}, DType::f32);
  sum(ones, 1, kCount, 1, y);
  EXPECT_EQ(y.to_vector()[0], kCount);
  Array columns({2}, DType::f32);
  sum(ones, 1, kCount / 2, 2, columns);
  EXPECT_EQ(columns.to_vector()[0], kCount / 2);
}

TEST(Reduce, MaxIsTheFirstLargestWithTheSameBits) {
  for (const Sizes& s : sizes()) {
    if (s.n == 0) continue;  // no largest
    const Array wide = normal({s.outer, s.n, s.inner}, 1);
    const auto at = exact(wide);
    Expected values;
    std::vector<double> places;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        const auto element = [&](int64_t k) { return at((o * s.n + k) * s.inner + j).value; };
        int64_t best = 0;
        for (int64_t k = 1; k < s.n; ++k) best = element(k) > element(best) ? k : best;
        values.push_back(element(best));
        places.push_back(static_cast<double>(best));
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = as(dtype, wide);
      const std::vector<Array> found = same_bits_for_any_threads([&] {
        Array y({s.outer, s.inner}, dtype), index({s.outer, s.inner}, DType::i64);
        max(x, s.outer, s.n, s.inner, y, index);
        return std::vector{y, index};
      });
      EXPECT_EQ(outside(found[0], values), "");
      EXPECT_EQ(found[1].to_vector(), places);
    }
  }
}

TEST(Reduce, MaxTakesTheFirstOfEqualsAndNaNBeforeAll) {
  const double x[] = {1, 3, 3, 2, 5, kNaN, kInf, kNaN, -kInf, -kInf, -kInf, -kInf};
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({3}, dtype), index({3}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 3, 4, 1, y, index);
    EXPECT_EQ(index.to_vector(), (std::vector<double>{1, 1, 0}));
    EXPECT_EQ(y.to_vector()[0], 3);
    EXPECT_TRUE(std::isnan(y.to_vector()[1]));
    EXPECT_EQ(y.to_vector()[2], -kInf);
    Array columns({4}, dtype), rows({4}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 1, 3, 4, columns, rows);
    EXPECT_EQ(rows.to_vector(), (std::vector<double>{1, 1, 1, 1}));
  }
}

constexpr double kEpsilon = 0x1p-10;

struct Norm {
  Array y, mean, rstd, dx, dweight, dbias;
};

Norm computed(const Array& x, const Array& weight, const Array& bias, const Array& dy) {
  const Shape shape = x.shape(), rows = {shape[0]}, columns = {shape[1]};
  const DType dtype = x.dtype();
  const std::vector<Array> r = same_bits_for_any_threads([&] {
    Array y(shape, dtype), mean(rows, dtype), rstd(rows, dtype), dx(shape, dtype);
    Array dw(columns, dtype), db(columns, dtype);
    zero(mean);
    zero(rstd);  // rows of nothing have none
    zero(db);
    if (bias.defined()) {
      layer_norm(x, weight, bias, kEpsilon, y, mean, rstd);
      layer_norm_backward(x, weight, mean, rstd, dy, dx, dw, db);
    } else {
      rms_norm(x, weight, kEpsilon, y, rstd);
      rms_norm_backward(x, weight, rstd, dy, dx, dw);
    }
    return std::vector{y, mean, rstd, dx, dw, db};
  });
  return {r[0], r[1], r[2], r[3], r[4], r[5]};
}

// RmsNorm has no bias, and a mean of 0. The backward is that of the mean and rstd that it was
// given.
void expect_formulas(const Array& x_of, const Array& weight, const Array& bias, const Array& dy_of,
                     const Norm& actual) {
  const int64_t rows = x_of.shape()[0], n = x_of.shape()[1];
  const bool has_mean = bias.defined();
  const auto x = exact(x_of), w = exact(weight), dy = exact(dy_of);
  const auto b = exact(has_mean ? bias : weight);
  const auto given_mean = exact(actual.mean), given_rstd = exact(actual.rstd);
  const auto normed = [&](int64_t r, int64_t i) {
    const Rounded& at = x(r * n + i);
    return (has_mean ? at - given_mean(r) : at) * given_rstd(r);
  };
  Expected y, means, rstd, dx, dw, db;
  for (int64_t r = 0; r < rows && n > 0; ++r) {
    const Rounded m = has_mean ? mean(n, [&](int64_t i) { return x(r * n + i); }) : Rounded(0);
    const auto centered = [&](int64_t i) { return has_mean ? x(r * n + i) - m : x(r * n + i); };
    const auto d_hat = [&](int64_t i) { return dy(r * n + i) * w(i); };
    const Rounded square = mean(n, [&](int64_t i) { return centered(i) * centered(i); });
    const Rounded inverse = Rounded(1) / sqrt(square + Rounded(kEpsilon));
    const Rounded mean_d = has_mean ? mean(n, d_hat) : Rounded(0);
    const Rounded dot = mean(n, [&](int64_t i) { return d_hat(i) * normed(r, i); });
    means.push_back(m);
    rstd.push_back(inverse);
    for (int64_t i = 0; i < n; ++i) {
      const Rounded scaled = centered(i) * inverse * w(i);
      y.push_back(has_mean ? scaled + b(i) : scaled);
      dx.push_back(given_rstd(r) * (d_hat(i) - mean_d - normed(r, i) * dot));
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto over_rows = [&](auto term) { return sum(rows, term); };
    dw.push_back(over_rows([&](int64_t r) { return dy(r * n + i) * normed(r, i); }));
    db.push_back(over_rows([&](int64_t r) { return has_mean ? dy(r * n + i) : Rounded(0); }));
  }
  EXPECT_EQ(outside(actual.y, y), "");
  EXPECT_EQ(outside(actual.dx, dx), "");
  EXPECT_EQ(outside(actual.dweight, dw), "");
  EXPECT_EQ(outside(actual.dbias, db), "");
  if (n == 0) return;
  EXPECT_EQ(outside(actual.mean, means), "");
  EXPECT_EQ(outside(actual.rstd, rstd), "");
}

TEST(Norm, BothAndTheirGradientsAreTheirFormulasAndHaveTheSameBits) {
  for (const Shape& shape : shapes(2, 21)) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Shape row = {shape[1]};
      const Array x = as(dtype, normal(shape, 22)), dy = as(dtype, normal(shape, 25));
      const Array w = as(dtype, normal(row, 23));
      for (const Array& bias : {as(dtype, normal(row, 24)), Array()}) {
        SCOPED_TRACE(x.describe() + (bias.defined() ? ", layer_norm" : ", rms_norm"));
        expect_formulas(x, w, bias, dy, computed(x, w, bias, dy));
      }
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

}  // namespace
}  // namespace qkv::kernels
