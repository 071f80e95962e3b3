// Verdicts over scales of x and of f from 1e-12 to 1e12: what is right passes, what is wrong fails.

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/nn/layer_examples.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

std::vector<double> times(double s, std::vector<double> numbers) {
  for (double& x : numbers) x *= s;
  return numbers;
}

Tensor filled(int64_t size, double value) { return Tensor(Array::full({size}, DType::f64, value)); }

std::vector<Subject> subjects_of(double s) {
  const std::vector<double> positive = {0.6, 1.3, 2.1}, both = {0.6, -1.3, 2.1};
  const std::vector<double> scaled = times(s, both), above = times(s, positive);
  const std::vector<double> mixed = {0.7 * s, -1.1, 1.9 / s};
  const auto cube = [](const Tensor& x) { return x * x * x; };
  const auto inverse = [](const Tensor& x) { return pow(x, -1.0); };
  const auto square = [](const Tensor& x) { return x * x; };
  return {
      {"1 / x", inverse, scaled},
      {"log x", [](const Tensor& x) { return log(x); }, above},
      {"sqrt x", [](const Tensor& x) { return sqrt(x); }, above},
      {"x^1.5", [](const Tensor& x) { return x * sqrt(x); }, above},
      {"x |x|", [](const Tensor& x) { return x * maximum(x, neg(x)); }, scaled},
      {"x^2", square, scaled},
      {"x^3", cube, scaled},
      {"tanh(x / s)", [s](const Tensor& x) { return tanh(scale(x, 1 / s)); }, scaled},
      {"s tanh x", [s](const Tensor& x) { return scale(tanh(x), s); }, both},
      {"s x^3", [s, cube](const Tensor& x) { return scale(cube(x), s); }, both},
      {"s + sum(tanh x)", [s](const Tensor& x) { return add_scalar(sum(tanh(x)), s); }, both},
      {"softmax(x / s)", [s](const Tensor& x) { return softmax(scale(x, 1 / s)); }, scaled},
      {"s exp(x / s)", [s](const Tensor& x) { return scale(exp(scale(x, 1 / s)), s); }, scaled},
      {"layer_norm x",
       [s](const Tensor& x) {
         return layer_norm(reshape(x, {1, 3}), filled(3, 1.5), filled(3, 0.5), 1e-6 * s * s);
       },
       scaled},
      {"x / sqrt(x^2 + s^2)", [s](const Tensor& x) { return x * rsqrt(add_scalar(x * x, s * s)); },
       scaled},
      {"x^2 of all scales", square, mixed},
      {"1 / x of all scales", inverse, mixed},
      {"sum(x^2)", [square](const Tensor& x) { return sum(square(x)); }, scaled},
  };
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> all;
  for (int power = -12; power <= 12; power += 2) {
    for (Subject& one : subjects_of(std::pow(10.0, power))) {
      absl::StrAppend(&one.name, " at 1e", power);
      all.push_back(std::move(one));
    }
  }
  // layer_norm on a row that is nearly constant, with little to keep it from 0.
  for (const double spread : {1e-2, 1e-4, 1e-6, 1e-8}) {
    all.push_back({absl::StrCat("layer_norm of 1 + ", spread, " u"),
                   [](const Tensor& x) {
                     return layer_norm(reshape(x, {1, 4}), filled(4, 1.0), filled(4, 0.0), 1e-12);
                   },
                   {1 + 0.3 * spread, 1 - 0.2 * spread, 1 + 0.9 * spread, 1 - spread}});
  }
  return all;
}

Tensor first_left_out(const Tensor&, const Tensor& dy) {
  std::vector<double> factors(static_cast<size_t>(dy.size()), 1.0);
  factors[0] = 0.0;
  return dy * leaf(dy.shape(), factors);
}

const PlantedBackward kMistakes[] = {
    [](const Tensor&, const Tensor& dy) { return 2.0 * dy; },
    [](const Tensor&, const Tensor& dy) { return neg(dy); },
    [](const Tensor&, const Tensor& dy) { return scale(dy, 0.0); },
    first_left_out,
    [](const Tensor&, const Tensor& dy) { return 1.001 * dy; },
};

TEST(ScaleTest, WhatIsRightPassesAndWhatIsWrongFails) {
  const std::vector<Subject> all = all_subjects();
  EXPECT_GE(all.size(), 200u);
  for (size_t i = 0; i < all.size(); ++i) {
    expect_pass(all[i], 1);
    expect_failure(all[i], kMistakes[i % std::size(kMistakes)], 1);
  }
}

// What is right passes.

TEST(FalseAlarmTest, EveryOpPassesForManySeeds) { expect_no_false_alarm(op_examples(), 4); }

TEST(FalseAlarmTest, EveryLayerPasses) { expect_no_false_alarm(layer_examples(), 1); }

// In inputs with many elements, every element is checked. QKV_GRADCHECK_SEEDS=12 in the environment
// looks at more of them.

constexpr size_t kElements = 600;

std::vector<double> many() { return normal_like(zeros({kElements}, DType::f64), 3).to_vector(); }
std::vector<double> numbers_of_all_sizes() {  // 1e-6 … 1e6
  std::vector<double> all = many();
  for (double& x : all) x = std::exp(3.5 * x);
  return all;
}

uint64_t seeds() { return false_alarm_seeds(1); }

// Of one element, of rows, and of elements of all sizes.
std::vector<Subject> large_subjects() {
  const auto rows = [](const Tensor& x) { return log_softmax(reshape(x, {6, 100})); };
  return {{"tanh x", [](const Tensor& x) { return tanh(x); }, many()},
          {"log_softmax", rows, many()},
          {"log of all sizes", [](const Tensor& x) { return log(x); }, numbers_of_all_sizes()}};
}

TEST(LargeInputTest, WhatIsRightPassesWithEverySeed) {
  const auto product = [](const Tensor& x) {
    return matmul(gelu(reshape(x, {6, 100})), normal_like(zeros({100, 8}, DType::f64), 4));
  };
  const Subject others[] = {
      {"x^3", [](const Tensor& x) { return x * x * x; }, many()},
      {"sum(x^2)", [](const Tensor& x) { return sum(x * x); }, many()},
      {"gelu(x) W", product, many()},
      {"exp(8 x)", [](const Tensor& x) { return exp(8.0 * x); }, many()},
      {"relu, with kinks beside the point", [](const Tensor& x) { return relu(x); }, many()},
  };
  for (const Subject& subject : large_subjects()) expect_pass(subject, seeds());
  for (const Subject& subject : others) expect_pass(subject, seeds());
}

TEST(LargeInputTest, FindsTheOneElementThatIsALittleOff) {
  size_t element = 77;
  for (const Subject& subject : large_subjects()) {
    for (uint64_t seed = 1; seed <= seeds(); ++seed) {
      element = (element * 48271 + 11) % kElements;
      std::vector<double> factors(kElements, 1.0);
      factors[element] = 1.0 + 1e-8;
      const Tensor wrong = leaf({kElements}, factors);
      const GradcheckReport report = check_spoilt(
          subject, [&](const Tensor&, const Tensor& dy) { return dy * wrong; }, {.seed = seed});
      const InputReport& input = report.inputs[0];
      EXPECT_EQ(report.verdict(), Verdict::kFail) << subject.name << "\n" << report.to_text();
      ASSERT_EQ(input.failed, 1) << subject.name << "\n" << report.to_text();
      EXPECT_EQ(input.worst[0].element, static_cast<int64_t>(element)) << subject.name;
    }
  }
}

}  // namespace
}  // namespace qkv
