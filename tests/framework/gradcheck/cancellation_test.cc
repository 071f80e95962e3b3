// Functions that compute with larger numbers than they give, or end near the point: what rounding
// does to them is no mistake of their gradients. And mistakes that larger numbers beside them hide.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/elementwise.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

const std::vector<double> kUsual = {0.7, -1.2, 2.3};

Tensor targets(std::vector<int64_t> numbers) {
  return Tensor(Array::of({static_cast<int64_t>(numbers.size())}, numbers));
}

Tensor negative_log_likelihood(const Tensor& x) {
  return cross_entropy(reshape(x, {1, 3}), targets({0}));
}

template <class T>
T sine(T x) {
  if constexpr (std::is_same_v<T, Float128>) return float128::sin(x);
  return static_cast<T>(std::sin(static_cast<double>(x)));
}

Tensor fast_sine(const Tensor& x, double phase) {
  constexpr double kRate = 16384 * std::numbers::pi;
  const auto f = [=](auto number) { return sine(kRate * number + phase * std::numbers::pi / 2); };
  return elementwise("fast_sine", x, f,
                     [=](const Tensor& in) { return scale(fast_sine(in, phase + 1), kRate); });
}

std::vector<Subject> subjects() {
  return {
      {"cross_entropy of a likely class", negative_log_likelihood, {14.0, 0.0, 0.4}},
      {"cross_entropy of a certain class", negative_log_likelihood, {40.0, 0.0, 0.4}},
      {"log(1 + exp(-x))",
       [](const Tensor& x) { return log(exp(neg(x)) + 1.0); },
       {14.0, 18.0, 25.0}},
      {"1 - tanh²", [](const Tensor& x) { return 1.0 - tanh(x) * tanh(x); }, {10.0, 12.0, 14.0}},
      {"sum(tanh x + 1e6) - 3e6", [](const Tensor& x) { return sum(tanh(x) + 1e6) - 3e6; }, kUsual},
      {"(x² + 1e9) - 1e9", [](const Tensor& x) { return (x * x + 1e9) - 1e9; }, kUsual},
      {"exp(1e-10 x) - 1", [](const Tensor& x) { return exp(scale(x, 1e-10)) - 1.0; }, kUsual},
      {"log(1 + 1e-8 x²)", [](const Tensor& x) { return log(1e-8 * (x * x) + 1.0); }, kUsual},
      {"softmax of a certain class", [](const Tensor& x) { return softmax(x); }, {30.0, 0.0, 0.4}},
      {"exp of large x", [](const Tensor& x) { return exp(x); }, {500.0, 499.5, 250.0}},
      {"tanh(x - 1e12)", [](const Tensor& x) { return tanh(x - 1e12); }, {1e12 + 0.25, 1e12 - 1.0}},
      {"log(x - 1)", [](const Tensor& x) { return log(x - 1.0); }, {1.0 + 1e-11, 1.0 + 3e-11}},
      {"sqrt(x - 1)", [](const Tensor& x) { return sqrt(x - 1.0); }, {1.0 + 1e-11, 1.0 + 3e-11}},
      {"(exp(x) - 1) / x", [](const Tensor& x) { return (exp(x) - 1.0) / x; }, {1e-7, -3e-7}},
      {"tanh((x - 5) / 1e-12)",
       [](const Tensor& x) { return tanh((x - 5.0) / 1e-12); },
       {5.0 + 3e-13, 5.0 - 1e-12}},
      {"sin(16384 pi x)", [](const Tensor& x) { return fast_sine(x, 0); }, {0.3, 0.71}},
      {"softmax, a logit 30 below", [](const Tensor& x) { return softmax(x); }, {0.0, -30.0, 0.4}},
      {"sum(x²)", [](const Tensor& x) { return sum(x * x); }, {1e5, 1.0}},
      {"s (1 - s)",
       [](const Tensor& x) { return sigmoid(x) * (1.0 - sigmoid(x)); },
       {25.0, 28.0, 31.0, 35.0}},
      {"sum(tanh x) + 1e10", [](const Tensor& x) { return sum(tanh(x)) + 1e10; }, kUsual},
      {"layer_norm, rows of two",
       [](const Tensor& x) {
         return layer_norm(reshape(x, {2, 2}), full({2}, 1.3, DType::f64), Tensor(), 1e-12);
       },
       {0.3, 1.7, -2.0, 0.4}},
      {"attention, keys + 1e6",
       [](const Tensor& x) {
         const Tensor q = reshape(x, {1, 2, 1, 2});
         return attention(q, q + 1e6, q, {});
       },
       {0.5, -0.3, 1.1, 0.8}},
  };
}

// Two errors of one size, or more of them, whose signs let them cancel in a sum.
TEST(CancellationTest, ErrorsOfOneSizeDoNotCancel) {
  for (const int64_t size : {2, 3, 4, 8, 32}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      RandomStream random(seed);
      std::vector<double> at, errors;
      for (int64_t i = 0; i < size; ++i) {
        at.push_back(1.0 + 0.9 * random.uniform());
        errors.push_back(random.uniform() < 0.5 ? -1e-3 : 1e-3);
      }
      const Subject subject = {"sum(x)", [](const Tensor& x) { return sum(x); }, at};
      const Tensor error = leaf({size}, errors);
      const GradcheckReport report =
          check_spoilt(subject, [&](const Tensor&, const Tensor& dy) { return dy * (1.0 + error); },
                       {.seed = seed});
      EXPECT_EQ(report.verdict(), Verdict::kFail) << size << ", seed " << seed;
    }
  }
}

TEST(CancellationTest, WhatIsRightPasses) {
  for (const Subject& subject : subjects()) expect_pass(subject, 5, 2);
}

// By 1e-5 of the element with the smallest gradient.
TEST(CancellationTest, WhatIsWrongInTheSmallestGradientFails) {
  for (const Subject& subject : subjects()) {
    const Tensor x = subject.x();
    const std::vector<double> gradient = backward(sum(subject.f(x)))[x].to_vector();
    const auto by_size = [](double a, double b) { return std::abs(a) < std::abs(b); };
    std::vector<double> factors(gradient.size(), 1.0);
    factors[std::ranges::min_element(gradient, by_size) - gradient.begin()] = 1.0 + 1e-5;
    expect_failure(subject, factors);
  }
}

// Their first steps lead to numbers that are larger by far.
TEST(CancellationTest, DeviationsOfANearlyConstantRowPass) {
  for (const double size : {1e-7, 1e-8, 1e-9}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::vector<double> at(16);
      RandomStream stream(seed);
      for (double& x : at) x = 1.0 + size * stream.normal();
      expect_pass({"variance", [](const Tensor& x) { return variance(x, -1); }, at}, 1);
      const auto squares = [](const Tensor& x) { return (x - mean(x)) * (x - mean(x)); };
      expect_pass({"(x - mean)²", squares, at}, 1);
    }
  }
}

// Rounding hides on which side of the kink the point is.
TEST(CancellationTest, AKinkBesideALargeNumberPasses) {
  const auto signed_square = [](const Tensor& x) { return maximum(x, neg(x)) * x; };
  const Subject subjects[] = {
      {"x|x|", signed_square, {1e-8, -1.0}},
      {"sum(x|x|)", [&](const Tensor& x) { return sum(signed_square(x)); }, {1e-8, -1.0}},
      {"sum(x|x|) at 1e-5", [&](const Tensor& x) { return sum(signed_square(x)); }, {1e-5, -1e3}},
      {"sum(relu(x))", [](const Tensor& x) { return sum(relu(x)); }, {1e-7, 1e6}},
  };
  for (const Subject& subject : subjects) expect_pass(subject, 10);
}

// Fused, the probabilities are exp(x - log sum exp), and composed exp(x - max x) over their sum.
TEST(CancellationTest, CrossEntropyOfLargeScoresPasses) {
  const auto loss = [](const Tensor& x) {
    return cross_entropy(reshape(x, {2, 3}), targets({1, 2}));
  };
  for (const double s : {1e4, 1e6, 1e8}) {
    expect_pass({"cross_entropy", loss, {s + 0.3, s - 0.2, s + 0.9, s + 1.1, s + 0.1, s - 0.4}}, 5,
                2);
  }
}

// The gradient by a is 1e9 and that by b 1e-9, or the reverse: neither's rounding is the other's.
TEST(CancellationTest, SecondDerivativesOfGradientsOfOtherSizesPass) {
  for (const double s : {1e-9, 1e9}) {
    const auto times = [](double by, std::vector<double> values) {
      for (double& value : values) value *= by;
      return values;
    };
    const std::vector<Tensor> inputs = {
        leaf({2, 3}, times(s, {0.3, -0.2, 0.9, 1.1, 0.1, -0.4})),
        leaf({3, 2}, times(1 / s, {0.5, -0.6, 0.4, 0.1, -0.7, 0.4}))};
    const auto product = [](std::span<const Tensor> in) { return tanh(matmul(in[0], in[1])); };
    const GradcheckReport report = gradcheck(product, inputs, {.order = 2});
    EXPECT_TRUE(report.passed()) << s << "\n" << report.to_text();
    const std::vector<Tensor> two = {leaf({3}, times(s, kUsual)), leaf({3}, times(1 / s, kUsual))};
    const auto quotient = [](std::span<const Tensor> in) { return in[0] / in[1]; };
    const GradcheckReport quotient_report = gradcheck(quotient, two, {.order = 2});
    EXPECT_TRUE(quotient_report.passed()) << s << "\n" << quotient_report.to_text();
  }
}

// Steps of the size of 1 see only the tails, where f is flat.
TEST(CancellationTest, APeakThatIsNarrowerThanTheStepsPasses) {
  const auto scores = [](const Tensor& x) {
    const Tensor squares = x * x;
    return log_softmax(scale(pow(squares * squares + 5.8e-26, -1.0), 6.7e-20));
  };
  const Subject subject = {"log_softmax of peaks", scores, {0.8e-6, -0.2e-6, 4.1e-6}};
  expect_pass(subject, 20);
}

TEST(CancellationTest, AZeroInPlaceOfANarrowSlopeFails) {
  const auto bump = [](const Tensor& x) { return exp(-1000.0 * ((x - 0.3) * (x - 0.3))); };
  expect_failure({"exp(-1000 (x - 0.3)²)", bump, {0.3 + 0.0316, 0.35}}, {0.0, 0.0});
  const auto narrow = [](const Tensor& x) { return x * exp(-1e6 * (x * x)); };
  expect_failure({"x exp(-x² / s²)", narrow, {0.7e-3, -1.2e-3, 2.3e-3}}, {0.0, 0.0, 0.0});
  // Beside these, f is the same on both sides of x; or zero.
  const std::vector<double> tiny = {0.7e-12, -1.2e-12, 2.3e-12};
  const auto pole = [](const Tensor& x) { return pow(x, -2.0); };
  expect_failure({"1 / x²", pole, tiny}, {0.0, 0.0, 0.0});
  const auto peak = [](const Tensor& x) { return pow(1e24 * (x * x) + 1.0, -1.0); };
  expect_failure({"1 / (1 + (x / s)²)", peak, tiny}, {0.0, 0.0, 0.0});
  const auto narrower = [](const Tensor& x) { return x * exp(-1e24 * (x * x)); };
  expect_failure({"x exp(-x² / s²) where it is zero soon", narrower, tiny}, {0.0, 0.0, 0.0});
}

TEST(CancellationTest, MistakesOfElementsOfAnotherSizeFail) {
  const auto product_of_two = [](const Tensor& x) { return slice(x, 0, 0, 1) * slice(x, 0, 1, 1); };
  expect_failure({"x0 x1", product_of_two, {0.7e6, 1.3e-6}}, {2.0, 1.0});
  const auto sum_of_roots = [](const Tensor& x) { return sum(sqrt(x)); };
  expect_failure({"sum(sqrt x)", sum_of_roots, {0.7e-6, 1.1, 1.9e6}}, {1.0, 1.001, 1.0});
  expect_failure({"x0 x1", product_of_two, {1e-11, 0.7}}, {1.0, 0.0});
  const auto quotient = [](const Tensor& x) { return slice(x, 0, 0, 1) / slice(x, 0, 1, 1); };
  expect_failure({"x0 / x1", quotient, {1.3e12, -0.7e-12}}, {0.0, 1.0});
  const auto sum_of_squares = [](const Tensor& x) { return sum(x * x); };
  expect_failure({"sum(x²)", sum_of_squares, {1e6, 1.0}}, {1.0, 0.0});
  expect_failure({"sum(x²)", sum_of_squares, {1.0, 1e-11}}, {1.0, 2.0});
  expect_failure({"sum(x²)", sum_of_squares, {1.0, 1e-11}}, {1.0, 0.0});
  const auto weighted = [](const Tensor& x) { return sum(x * leaf({3}, {1e12, 1.0, 1e-12})); };
  expect_failure({"sum(w x)", weighted, {1.3e-12, -0.7, 2e12}}, {1.0, -1.0, 1.0});
  expect_failure({"sum(w x)", weighted, {1.3e-12, -0.7, 2e12}}, {1.0, 1.0, 0.0});
}

}  // namespace
}  // namespace qkv
