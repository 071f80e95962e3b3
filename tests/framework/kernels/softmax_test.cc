#include "framework/kernels/softmax.h"

#include <cmath>
#include <limits>

#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

const Shape kRowShapes[] = {{1, 1},    {3, 1},    {5, 7}, {768, 65},
                            {2, 1000}, {300, 64}, {0, 4}, {7, 33}};

// p[r, c] and log p[r, c] of the rows, from their definition
struct Expected {
  Array p, log_p;
};

Expected defined(const Array& x) {
  const int64_t n = x.shape()[-1];
  Expected e{Array(x.shape(), DType::f64), Array(x.shape(), DType::f64)};
  for (int64_t row = 0; row < x.size() / n; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += std::exp(x.data<double>()[row * n + c]);
    for (int64_t c = 0; c < n; ++c) {
      const int64_t i = row * n + c;
      e.p.mutable_data<double>()[i] = std::exp(x.data<double>()[i]) / sum;
      e.log_p.mutable_data<double>()[i] = x.data<double>()[i] - std::log(sum);
    }
  }
  return e;
}

TEST(Softmax, ForwardsAndBackwardsAreTheirFormulas) {
  for (const Shape& shape : kRowShapes) {
    const Array x = normal(shape, 1), dy = normal(shape, 2);
    const Expected e = defined(x);
    const int64_t n = shape[-1];
    Array dp(shape, DType::f64), dlog(shape, DType::f64);
    for (int64_t row = 0; row < x.size() / n; ++row) {
      double dot = 0, total = 0;
      for (int64_t i = row * n; i < row * n + n; ++i) {
        dot += e.p.data<double>()[i] * dy.data<double>()[i];
        total += dy.data<double>()[i];
      }
      for (int64_t i = row * n; i < row * n + n; ++i) {
        dp.mutable_data<double>()[i] = e.p.data<double>()[i] * (dy.data<double>()[i] - dot);
        dlog.mutable_data<double>()[i] = dy.data<double>()[i] - e.p.data<double>()[i] * total;
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const double tolerance = dtype == DType::f64 ? 1e-13 : 2e-6;
      Array y(shape, dtype);
      softmax(as(dtype, x), y);
      expect_close(y, e.p, tolerance, 1e-3);
      softmax_backward(as(dtype, e.p), as(dtype, dy), y);
      expect_close(y, dp, tolerance);
      log_softmax(as(dtype, x), y);
      expect_close(y, e.log_p, tolerance);
      log_softmax_backward(as(dtype, e.log_p), as(dtype, dy), y);
      expect_close(y, dlog, tolerance * 10);
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

TEST(CrossEntropy, LossAndGradientAreTheirFormulas) {
  for (const Shape& shape : kRowShapes) {
    const int64_t rows = shape[0], classes = shape[1];
    const Array x = normal(shape, 1), dloss = normal({rows}, 2);
    const Expected e = defined(x);
    std::vector<int64_t> targets;
    for (int64_t row = 0; row < rows; ++row) targets.push_back(row % 5 == 3 ? -1 : row % classes);
    for (const double smoothing : {0.0, 0.1}) {
      Array loss({rows}, DType::f64), dx(shape, DType::f64);
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t c = 0; c < classes; ++c) {
          const int64_t i = row * classes + c;
          const int64_t target = targets[static_cast<size_t>(row)];
          const double q =
              (c == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
          sum -= q * e.log_p.data<double>()[i];
          dx.mutable_data<double>()[i] =
              target < 0 ? 0 : (e.p.data<double>()[i] - q) * dloss.data<double>()[row];
        }
        loss.mutable_data<double>()[row] = targets[static_cast<size_t>(row)] < 0 ? 0 : sum;
      }
      for (const DType dtype : {DType::f64, DType::f32}) {
        const double tolerance = dtype == DType::f64 ? 1e-13 : 3e-6;
        const Array t = Array::of({rows}, targets);
        Array got({rows}, dtype), lse({rows}, dtype), gradient(shape, dtype);
        cross_entropy(as(dtype, x), t, -1, smoothing, got, lse);
        expect_close(got, loss, tolerance);
        cross_entropy_backward(as(dtype, x), t, lse, -1, smoothing, as(dtype, dloss), gradient);
        expect_close(gradient, dx, tolerance);
      }
    }
  }
}

TEST(CrossEntropy, IgnoredRowsAreZeroWhateverTheyHold) {
  const int64_t targets[] = {-100, 1};
  const double x[] = {kNaN, kInf, 0, 0};
  const Array t = Array::of({2}, targets), logits = Array::of({2, 2}, DType::f32, x);
  Array loss({2}, DType::f32), lse({2}, DType::f32), dx({2, 2}, DType::f32);
  cross_entropy(logits, t, -100, 0.1, loss, lse);
  EXPECT_EQ(loss.to_vector()[0], 0);
  EXPECT_NEAR(loss.to_vector()[1], std::log(2), 1e-6);
  cross_entropy_backward(logits, t, lse, -100, 0, Array::full({2}, DType::f32, 1), dx);
  EXPECT_EQ(dx.to_vector(), (std::vector<double>{0, 0, 0.5, -0.5}));
}

TEST(CrossEntropy, AClassThatIsMaskedCountsForNothing) {
  const int64_t targets[] = {0};
  const double x[] = {1, -kInf, 1};
  Array loss({1}, DType::f32), lse({1}, DType::f32);
  cross_entropy(Array::of({1, 3}, DType::f32, x), Array::of({1}, targets), -1, 0, loss, lse);
  EXPECT_NEAR(loss.to_vector()[0], std::log(2), 1e-6);
}

TEST(Softmax, HasTheSameBitsForAnyThreads) {
  const Array x = as(DType::f32, normal({1000, 65}, 1)), dy = as(DType::f32, normal({1000, 65}, 2));
  const Array t = Array::of({1000}, std::vector<int64_t>(1000, 3));
  expect_same_bits_for_any_threads([&] {
    std::vector<Array> r;
    for (int i = 0; i < 5; ++i) r.emplace_back(x.shape(), DType::f32);
    Array loss({1000}, DType::f32), lse({1000}, DType::f32);
    softmax(x, r[0]);
    softmax_backward(r[0], dy, r[1]);
    log_softmax(x, r[2]);
    log_softmax_backward(r[2], dy, r[3]);
    cross_entropy(x, t, -1, 0.1, loss, lse);
    cross_entropy_backward(x, t, lse, -1, 0.1, loss, r[4]);
    r.push_back(loss);
    r.push_back(lse);
    return r;
  });
}

}  // namespace
}  // namespace qkv::kernels
