// Functions that change over a length far below the steps that settle most, and look like another
// smooth function from there.

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr double kLengths[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11};

struct SmallLength {
  const char* name;
  std::function<Tensor(const Tensor& x, double a)> f;
  std::vector<double> at;  // in units of a
};

Tensor square(const Tensor& x) { return x * x; }

Tensor scaled_tanh(const Tensor& x, double a) { return a * tanh(x / a); }

Tensor square_beyond(const Tensor& x, double a) {
  const Tensor q = square(x);
  return q * q / (q + a * a);
}

const SmallLength kSmallLengths[] = {
    {"the largest square", [](const Tensor& x, double) { return max(square(x), -1); }, {1.0, 1.1}},
    {"max(x², 4a²)",
     [](const Tensor& x, double a) {
       return maximum(square(x), full(x.shape(), 4.0 * a * a, DType::f64));
     },
     {1.0, -1.5, 3.0}},
    {"relu(x² - 4a²)",
     [](const Tensor& x, double a) { return relu(square(x) - 4.0 * a * a); },
     {1.0, -1.5, 3.0}},
    {"x⁴ / (x² + a²)", square_beyond, {1.0, -0.3, 2.0}},
    {"x² exp(-x² / a²) + x²",
     [](const Tensor& x, double a) { return square(x) * exp(neg(square(x / a))) + square(x); },
     {1.0, -0.3, 2.0}},
    {"x + a² x / (x² + a²)",
     [](const Tensor& x, double a) { return x + a * a * x / (square(x) + a * a); },
     {1.0, -0.3, 2.0}},
    {"x + a tanh(x / a)",
     [](const Tensor& x, double a) { return x + scaled_tanh(x, a); },
     {0.0, 1.0}},
    {"x tanh²(x / a)",
     [](const Tensor& x, double a) { return x * square(tanh(x / a)); },
     {1.0, -2.0, 0.0}},
    {"exp(x / a)", [](const Tensor& x, double a) { return exp(x / a); }, {0.0, 1.0}},
};

// The point and the length are in units of a.
Subject subject_of(const SmallLength& small, double a) {
  std::vector<double> at = small.at;
  for (double& x : at) x *= a;
  return {absl::StrCat(small.name, ", a = ", a),
          [f = small.f, a](const Tensor& x) { return f(x, a); }, at};
}

TEST(SmallLengthTest, WhatIsRightPasses) {
  for (const SmallLength& small : kSmallLengths) {
    for (const double a : kLengths) expect_pass(subject_of(small, a), 5);
  }
}

// The gradient that the function seems to have from afar.
TEST(SmallLengthTest, TheSlopeOfLargeStepsFails) {
  struct SlopeFromAfar {
    SmallLength small;
    PlantedBackward backward;
  };
  const SlopeFromAfar mistakes[] = {
      {{"x⁴ / (x² + a²) as x²", square_beyond, {1.0}},
       [](const Tensor& x, const Tensor& dy) { return 2.0 * x * dy; }},
      {{"x + a tanh(x / a) as x",
        [](const Tensor& x, double a) { return x + scaled_tanh(x, a); },
        {0.0}},
       [](const Tensor&, const Tensor& dy) { return scale(dy, 1.0); }},
  };
  for (const SlopeFromAfar& mistake : mistakes) {
    for (const double a : kLengths) {
      const Subject subject = subject_of(mistake.small, a);
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        const GradcheckReport report =
            check_planted([&](TensorSpan in) { return subject.f(in[0]); }, mistake.backward,
                          subject.x(), {.seed = seed});
        EXPECT_EQ(report.verdict(), Verdict::kFail) << subject.name << "\n" << report.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace qkv
