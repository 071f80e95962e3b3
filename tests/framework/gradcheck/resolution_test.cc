// Functions whose values are coarser than the numbers that hold them: what is right does not fail,
// and what is wrong does not pass where it cannot be seen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

std::vector<double> random_point(int64_t size, uint64_t seed) {
  RandomStream random(seed);
  std::vector<double> at;
  for (int64_t i = 0; i < size; ++i) at.push_back(0.2 + 1.6 * random.uniform());
  return at;
}

// Ops of one's own that compute in another type, which nobody sees.
struct Own {
  const char* name;
  Scalars f, derivative;
};

Float128 sigmoid_of(Float128 x) { return 1 / (1 + float128::exp(-x)); }

const Own kOwn[] = {
    {"2 x", [](Float128 x) { return 2 * x; }, [](Float128) { return 2; }},
    {"x²", [](Float128 x) { return x * x; }, [](Float128 x) { return 2 * x; }},
    {"exp", [](Float128 x) { return float128::exp(x); },
     [](Float128 x) { return float128::exp(x); }},
    {"sin", [](Float128 x) { return float128::sin(x); },
     [](Float128 x) { return float128::sin(x + std::numbers::pi / 2); }},
    {"sigmoid", sigmoid_of, [](Float128 x) { return sigmoid_of(x) * (1 - sigmoid_of(x)); }},
    {"x + 1000", [](Float128 x) { return x + 1000; }, [](Float128) { return 1; }},
    {"x + 1e9", [](Float128 x) { return x + 1e9; }, [](Float128) { return 1; }},
};

Float128 in_float(Float128 x) { return static_cast<float>(x); }

GradcheckReport check_own(const Own& own, double mistake, uint64_t seed, double after = 1.0) {
  const Tensor x = leaf({3}, random_point(3, seed));
  const Scalars f = [&](Float128 at) { return after * in_float(own.f(in_float(at))); };
  const Scalars derivative = [&](Float128 at) {
    return after * mistake * in_float(own.derivative(in_float(at)));
  };
  return check_scalars(x, f, derivative, true, seed);
}

TEST(ResolutionTest, OpsOfOnesOwnInF32DoNotFail) {
  int passed = 0, all = 0;
  for (const Own& own : kOwn) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      for (const double after : {1.0, 0.3}) {  // then the values are no numbers of f32
        const GradcheckReport report = check_own(own, 1.0, seed, after);
        EXPECT_NE(report.verdict(), Verdict::kFail) << own.name << ", seed " << seed << "\n"
                                                    << report.to_text();
        if (after == 1.0 && own.f(0) < 100) ++all, passed += report.passed() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(passed, all * 7 / 10);
}

TEST(ResolutionTest, MistakesOfOpsOfOnesOwnInF32DoNotPass) {
  int failed = 0, all = 0;
  for (const Own& own : kOwn) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      for (const double mistake : {1.01, -1.0, 0.0}) {
        const GradcheckReport report = check_own(own, mistake, seed);
        EXPECT_NE(report.verdict(), Verdict::kPass) << own.name << ", seed " << seed << "\n"
                                                    << report.to_text();
        ++all, failed += report.verdict() == Verdict::kFail ? 1 : 0;
      }
    }
  }
  EXPECT_GT(failed, all / 2);
}

// Functions that read their numbers as doubles cannot run in f128. That is noticed, and they are
// checked in f64.

using testing::HasSubstr;

// exp, by an op of one's own that knows doubles only.
Tensor plain_exp(const Tensor& x, double factor) {
  return apply_scalars(
      x, [](Float128 v) { return std::exp(static_cast<double>(v)); },
      [=](Float128 v) { return factor * std::exp(static_cast<double>(v)); }, true);
}

GradcheckReport check_plain_exp(double factor) {
  const Tensor x = leaf({3}, {0.5, -1.0, 2.0});
  return gradcheck([=](auto in) { return plain_exp(in[0], factor); }, {&x, 1});
}

TEST(NarrowingTest, AnOpOfDoublesIsCheckedInF64) {
  const GradcheckReport right = check_plain_exp(1.0);
  EXPECT_TRUE(right.passed()) << right.to_text();
  EXPECT_EQ(right.computed_in, "f64");
  EXPECT_THAT(right.to_text(), HasSubstr("scalar_function reads numbers as doubles"));
  for (const double factor : {1.0 + 1e-6, -1.0, 2.0, 0.0}) {
    const GradcheckReport wrong = check_plain_exp(factor);
    EXPECT_EQ(wrong.verdict(), Verdict::kFail) << factor << "\n" << wrong.to_text();
  }
}

TEST(NarrowingTest, EveryReaderIsNamed) {
  const Tensor x = leaf({1}, {0.5});
  const auto reader_of = [&](const TensorFunction& f) {
    const GradcheckReport report = gradcheck(f, {&x, 1});
    EXPECT_EQ(report.computed_in, "f64") << report.to_text();
    EXPECT_EQ(report.notes.empty(), false);
    return report.notes.empty() ? "" : report.notes.back();
  };
  EXPECT_THAT(reader_of([](auto in) { return in[0] * in[0].item(); }), HasSubstr(": item reads"));
  EXPECT_THAT(reader_of([](auto in) { return in[0] * in[0].to_vector()[0]; }),
              HasSubstr(": to_vector reads"));
  EXPECT_THAT(reader_of([](auto in) { return in[0] * cast(cast(in[0], DType::f32), DType::f64); }),
              HasSubstr(": cast reads"));
}

// A number that was read as a double is a constant for backward, and not for differences.
TEST(NarrowingTest, WhatIsReadAndUsedFails) {
  const Tensor x = leaf({1}, {0.5});
  const GradcheckReport report = gradcheck([](auto in) { return in[0] * in[0].item(); }, {&x, 1});
  EXPECT_EQ(report.verdict(), Verdict::kFail) << report.to_text();
}

TEST(NarrowingTest, ATieOfMaximumFailsOutsideOfBothSlopes) {
  const Tensor x = leaf({1}, {0.5});
  const TensorFunction tie = [](std::span<const Tensor> in) {
    return maximum(in[0], constant({1}, {0.5}, DType::f64));
  };
  for (const double slope : {0.0, 0.5, 1.0}) {
    const PlantedBackward between = [=](const Tensor&, const Tensor& dy) { return slope * dy; };
    EXPECT_EQ(check_planted(tie, between, x).verdict(), Verdict::kUndecided) << slope;
  }
  for (const double slope : {-1.0, -1e-3, 1.001}) {
    const PlantedBackward outside = [=](const Tensor&, const Tensor& dy) { return slope * dy; };
    EXPECT_EQ(check_planted(tie, outside, x).verdict(), Verdict::kFail) << slope;
  }
}

// Functions that change over a length far below the steps that settle most, and look like another
// smooth function from there.

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
