#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

// A row x(0 … n - 1) as exp(x - shift), with the largest x for shift, and the sum of these.
struct RowOfExps {
  double shift;
  Expected exps;
  Rounded total;
};
RowOfExps exps_of(const std::function<Rounded(int64_t)>& x, int64_t n) {
  RowOfExps row = {.shift = -kInf, .exps = {}, .total = {}};
  for (int64_t i = 0; i < n; ++i) row.shift = std::max(row.shift, x(i).value);
  for (int64_t i = 0; i < n; ++i) row.exps.push_back(exp(x(i) - Rounded(row.shift)));
  row.total = sum(n, [&](int64_t i) { return row.exps[static_cast<size_t>(i)]; });
  return row;
}

struct Softmaxes {
  Array p, dx, log_p, dlog;
};

// The backwards are those of the p and log p that they were given.
void expect_formulas(const Array& x_of, const Array& dy_of, const Softmaxes& actual) {
  const int64_t n = x_of.shape()[1], rows = n == 0 ? 0 : x_of.shape()[0];
  const auto x = exact(x_of), dy = exact(dy_of), p = exact(actual.p), log_p = exact(actual.log_p);
  Expected e_p, e_dx, e_log, e_dlog;
  for (int64_t first = 0; first < rows * n; first += n) {
    const RowOfExps row = exps_of([&](int64_t i) { return x(first + i); }, n);
    const Rounded inverse = Rounded(1) / row.total;
    const Rounded dot = sum(n, [&](int64_t i) { return p(first + i) * dy(first + i); });
    const Rounded total = sum(n, [&](int64_t i) { return dy(first + i); });
    for (int64_t i = first; i < first + n; ++i) {
      e_p.push_back(row.exps[static_cast<size_t>(i - first)] * inverse);
      e_dx.push_back(p(i) * (dy(i) - dot));
      e_log.push_back((x(i) - Rounded(row.shift)) - log(row.total));
      e_dlog.push_back(dy(i) - exp(log_p(i)) * total);
    }
  }
  EXPECT_EQ(outside(actual.p, e_p), "");
  EXPECT_EQ(outside(actual.dx, e_dx), "");
  EXPECT_EQ(outside(actual.log_p, e_log), "");
  EXPECT_EQ(outside(actual.dlog, e_dlog), "");
}

TEST(Softmax, ForwardsAndBackwardsAreTheirFormulasAndHaveTheSameBits) {
  for (const Shape& shape : shapes(2, 15)) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      SCOPED_TRACE(shape.to_string());
      const Array x = as(dtype, normal(shape, 16)), dy = as(dtype, normal(shape, 17));
      const std::vector<Array> r = same_bits_for_any_threads([&] {
        Array p(shape, dtype), dx(shape, dtype), log_p(shape, dtype), dlog(shape, dtype);
        softmax(x, p);
        softmax_backward(p, dy, dx);
        log_softmax(x, log_p);
        log_softmax_backward(log_p, dy, dlog);
        return std::vector{p, dx, log_p, dlog};
      });
      expect_formulas(x, dy, {r[0], r[1], r[2], r[3]});
    }
  }
}

TEST(Softmax, MaskedElementsAreZeroAndAMaskedRowIsZeros) {
  const double x[] = {1, -kInf, 1, -kInf, -kInf, -kInf, kNaN, 1, -kInf, kNaN, -kInf, -kInf};
  const double p[] = {0.5, 0, 0.5, 0, 0, 0, kNaN, kNaN, 0, kNaN, 0, 0};
  const double log_half = std::log(0.5);
  const double log_p[] = {log_half, -kInf, log_half, -kInf, -kInf, -kInf,
                          kNaN,     kNaN,  kNaN,     kNaN,  kNaN,  kNaN};
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({4, 3}, dtype);
    softmax(Array::of({4, 3}, dtype, x), y);
    expect_close(y, Array::of({4, 3}, DType::f64, p), 1e-7);
    log_softmax(Array::of({4, 3}, dtype, x), y);
    expect_close(y, Array::of({4, 3}, DType::f64, log_p), 1e-7);
  }
}

TEST(Softmax, LargeScoresDoNotOverflow) {
  const double x[] = {1e4, 1e4 - 1, -1e4, 3e38, 0, -3e38};
  const double big = 1 / (1 + std::exp(-1));
  const double p[] = {big, 1 - big, 0, 1, 0, 0};
  Array y({2, 3}, DType::f32);
  softmax(Array::of({2, 3}, DType::f32, x), y);
  expect_close(y, Array::of({2, 3}, DType::f64, p), 1e-6);
}

// Of the rows whose target is not negative; the backward is that of the lse that it was given.
void expect_formulas(const Array& x_of, const std::vector<int64_t>& targets, double smoothing,
                     const Array& dloss_of, const Array& loss, const Array& lse_of,
                     const Array& dx) {
  const int64_t rows = x_of.shape()[0], n = x_of.shape()[1];
  const auto x = exact(x_of), dloss = exact(dloss_of), lse = exact(lse_of);
  const Rounded spread = constant(smoothing / static_cast<double>(n));
  Expected e_loss, e_dx;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t target = targets[static_cast<size_t>(r)];
    const RowOfExps row = exps_of([&](int64_t i) { return x(r * n + i); }, n);
    const auto shifted = [&](int64_t i) { return x(r * n + i) - Rounded(row.shift); };
    for (int64_t i = 0; i < n; ++i) {
      const Rounded p = exp(x(r * n + i) - lse(r));
      const Rounded hot = i == target ? Rounded(1 - smoothing) * dloss(r) : Rounded(0);
      e_dx.push_back(target < 0 ? Rounded(0) : (p - spread) * dloss(r) - hot);
    }
    if (target < 0) {
      e_loss.push_back(0);
      continue;
    }
    const Rounded aimed =
        Rounded(1 - smoothing) * shifted(target) + Rounded(smoothing) * mean(n, shifted);
    e_loss.push_back(log(row.total) - aimed);
  }
  EXPECT_EQ(outside(loss, e_loss), "");
  EXPECT_EQ(outside(dx, e_dx), "");
}

TEST(CrossEntropy, LossAndGradientAreTheirFormulasAndHaveTheSameBits) {
  for (const Shape& shape : shapes(2, 18)) {
    const int64_t rows = shape[0], n = shape[1];
    if (n == 0) continue;  // no class to aim at
    std::vector<int64_t> targets;
    for (int64_t r = 0; r < rows; ++r) targets.push_back(r % 5 == 4 ? -1 : r % n);
    const Array t = Array::of({rows}, targets);
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = as(dtype, normal(shape, 19)), dloss = as(dtype, normal({rows}, 20));
      for (const double smoothing : {0.0, 0.125}) {
        SCOPED_TRACE(x.describe() + " " + std::to_string(smoothing));
        const std::vector<Array> r = same_bits_for_any_threads([&] {
          Array loss({rows}, dtype), lse({rows}, dtype), dx(shape, dtype);
          cross_entropy(x, t, -1, smoothing, loss, lse);
          cross_entropy_backward(x, t, lse, -1, smoothing, dloss, dx);
          return std::vector{loss, lse, dx};
        });
        expect_formulas(x, targets, smoothing, dloss, r[0], r[1], r[2]);
      }
    }
  }
}

TEST(CrossEntropy, AClassThatIsMaskedCountsForNothing) {
  const int64_t targets[] = {0};
  const double x[] = {1, -kInf, 1};
  Array loss({1}, DType::f32), lse({1}, DType::f32);
  cross_entropy(Array::of({1, 3}, DType::f32, x), Array::of({1}, targets), -1, 0, loss, lse);
  EXPECT_NEAR(loss.to_vector()[0], std::log(2), 1e-6);
}

}  // namespace
}  // namespace qkv::kernels
