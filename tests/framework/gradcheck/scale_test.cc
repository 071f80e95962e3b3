// Verdicts over scales of x and of f from 1e-12 to 1e12: what is right passes, what is wrong fails.

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

struct ScaledInput {
  std::string name;
  TensorFunction f;
  Tensor at;
};

using ScaledFunction = std::function<Tensor(const Tensor& x)>;

ScaledInput subject(const std::string& name, const ScaledFunction& f,
                    const std::vector<double>& at) {
  return {name, [f](std::span<const Tensor> x) { return f(x[0]); },
          leaf({static_cast<int64_t>(at.size())}, at)};
}

std::vector<double> times(double s, std::vector<double> numbers) {
  for (double& x : numbers) x *= s;
  return numbers;
}

Tensor filled(int64_t size, double value) { return Tensor(Array::full({size}, DType::f64, value)); }

std::vector<ScaledInput> subjects_of(double s) {
  const std::vector<double> positive = {0.6, 1.3, 2.1}, both = {0.6, -1.3, 2.1};
  const std::vector<double> scaled = times(s, both), above = times(s, positive);
  const std::vector<double> mixed = {0.7 * s, -1.1, 1.9 / s};
  const ScaledFunction cube = [](const Tensor& x) { return x * x * x; };
  const ScaledFunction inverse = [](const Tensor& x) { return pow(x, -1.0); };
  const ScaledFunction square = [](const Tensor& x) { return x * x; };
  return {
      subject("1 / x", inverse, scaled),
      subject(
          "log x", [](const Tensor& x) { return log(x); }, above),
      subject(
          "sqrt x", [](const Tensor& x) { return sqrt(x); }, above),
      subject(
          "x^1.5", [](const Tensor& x) { return x * sqrt(x); }, above),
      subject(
          "x |x|", [](const Tensor& x) { return x * maximum(x, neg(x)); }, scaled),
      subject("x^2", square, scaled),
      subject("x^3", cube, scaled),
      subject(
          "tanh(x / s)", [s](const Tensor& x) { return tanh(scale(x, 1 / s)); }, scaled),
      subject(
          "s tanh x", [s](const Tensor& x) { return scale(tanh(x), s); }, both),
      subject(
          "s x^3", [s, cube](const Tensor& x) { return scale(cube(x), s); }, both),
      subject(
          "s + sum(tanh x)", [s](const Tensor& x) { return add_scalar(sum(tanh(x)), s); }, both),
      subject(
          "softmax(x / s)", [s](const Tensor& x) { return softmax(scale(x, 1 / s)); }, scaled),
      subject(
          "s exp(x / s)", [s](const Tensor& x) { return scale(exp(scale(x, 1 / s)), s); }, scaled),
      subject(
          "layer_norm x",
          [s](const Tensor& x) {
            return layer_norm(reshape(x, {1, 3}), filled(3, 1.5), filled(3, 0.5), 1e-6 * s * s);
          },
          scaled),
      subject(
          "x / sqrt(x^2 + s^2)",
          [s](const Tensor& x) { return x * rsqrt(add_scalar(x * x, s * s)); }, scaled),
      subject("x^2 of all scales", square, mixed),
      subject("1 / x of all scales", inverse, mixed),
      subject(
          "sum(x^2)", [square](const Tensor& x) { return sum(square(x)); }, scaled),
  };
}

std::vector<ScaledInput> all_subjects() {
  std::vector<ScaledInput> all;
  for (int power = -12; power <= 12; power += 2) {
    for (ScaledInput& one : subjects_of(std::pow(10.0, power))) {
      absl::StrAppend(&one.name, " at 1e", power);
      all.push_back(std::move(one));
    }
  }
  // layer_norm on a row that is nearly constant, with little to keep it from 0.
  for (const double spread : {1e-2, 1e-4, 1e-6, 1e-8}) {
    all.push_back(
        subject(absl::StrCat("layer_norm of 1 + ", spread, " u"),
                [](const Tensor& x) {
                  return layer_norm(reshape(x, {1, 4}), filled(4, 1.0), filled(4, 0.0), 1e-12);
                },
                {1 + 0.3 * spread, 1 - 0.2 * spread, 1 + 0.9 * spread, 1 - spread}));
  }
  return all;
}

struct Mistake {
  const char* name;
  std::function<Tensor(const Tensor& gradient)> made_of;
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> kMistakes = {
      {"twice too large", [](const Tensor& g) { return 2.0 * g; }},
      {"of the wrong sign", [](const Tensor& g) { return neg(g); }},
      {"left out", [](const Tensor& g) { return scale(g, 0.0); }},
      {"left out at one element",
       [](const Tensor& g) {
         return g * Tensor(Array::of(g.shape(), DType::f64, [&] {
                  std::vector<double> factors(static_cast<size_t>(g.size()), 1.0);
                  factors[0] = 0.0;
                  return factors;
                }()));
       }},
      {"too large by a thousandth", [](const Tensor& g) { return 1.001 * g; }},
  };
  return kMistakes;
}

const Mistake& mistake_of(size_t subject) { return mistakes()[subject % mistakes().size()]; }

// The mistake is made on the way back from f to x.
GradcheckReport check_mistake(const ScaledInput& subject, const Mistake& mistake) {
  const TensorFunction identity = [](std::span<const Tensor> x) { return scale(x[0], 1.0); };
  const PlantedBackward wrong = [&](const Tensor&, const Tensor& dy) {
    return mistake.made_of(dy);
  };
  const TensorFunction f = [&](std::span<const Tensor> x) {
    const Tensor mistaken = apply<Planted>({x[0]}, identity, wrong);
    return subject.f({&mistaken, 1});
  };
  return gradcheck(f, {&subject.at, 1});
}

// Verdicts that are not what they should be.
struct Count {
  std::vector<std::string> wrong = {}, undecided = {};
  int all = 0;

  void add(const std::string& name, Verdict verdict, Verdict expected, const std::string& report) {
    ++all;
    if (verdict == expected) return;
    (verdict == Verdict::kUndecided ? undecided : wrong)
        .push_back(absl::StrCat(name, "\n", report));
  }

  void print(const char* what) const {
    const size_t misses = wrong.size() + undecided.size();
    absl::PrintF("%d of %d %s\n", static_cast<size_t>(all) - misses, all, what);
  }
};

TEST(ScaleTest, WhatIsRightPasses) {
  Count count;
  for (const ScaledInput& subject : all_subjects()) {
    const GradcheckReport report = gradcheck(subject.f, {&subject.at, 1});
    count.add(subject.name, report.verdict(), Verdict::kPass, report.to_text());
  }
  count.print("right functions pass");
  EXPECT_GE(count.all, 200);
  EXPECT_TRUE(count.wrong.empty()) << count.wrong.size() << absl::StrJoin(count.wrong, "\n");
  EXPECT_TRUE(count.undecided.empty())
      << count.undecided.size() << absl::StrJoin(count.undecided, "\n");
}

TEST(ScaleTest, WhatIsWrongFails) {
  Count count;
  size_t next = 0;
  for (const ScaledInput& subject : all_subjects()) {
    const Mistake& mistake = mistake_of(next++);
    const GradcheckReport report = check_mistake(subject, mistake);
    count.add(absl::StrCat(subject.name, ", ", mistake.name), report.verdict(), Verdict::kFail,
              report.to_text());
  }
  count.print("wrong gradients fail");
  EXPECT_GE(count.all, 200);
  EXPECT_TRUE(count.wrong.empty()) << count.wrong.size() << absl::StrJoin(count.wrong, "\n");
  EXPECT_TRUE(count.undecided.empty())
      << count.undecided.size() << absl::StrJoin(count.undecided, "\n");
}

}  // namespace
}  // namespace qkv
