// What hides a wrong gradient: a period that fits the steps, a kink beside the point, a large
// number beside a small one. None of it may pass.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/framework/gradcheck/hidden_cases.h"
#include "tests/framework/gradcheck/scalar_function.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr double kPi = std::numbers::pi;

GradcheckReport check_scalars(const Scalars& f, const Scalars& derivative, bool is_narrow,
                              const std::vector<double>& at, uint64_t seed) {
  const Tensor x = leaf({std::ssize(at)}, at);
  return gradcheck(
      [&](std::span<const Tensor> in) { return apply_scalars(in[0], f, derivative, is_narrow); },
      {&x, 1}, {.seed = seed});
}

// sin(2 pi n x), without what sin loses of large numbers.
Float128 wave(Float128 x, double n, double phase) {
  const Float128 turns = n * x;
  const Float128 part = turns - static_cast<Float128>(static_cast<int64_t>(turns));
  return float128::sin(2 * Float128(kPi) * (part + phase));
}

TEST(HiddenTest, APeriodThatDividesPowersOfTwoIsSeen) {
  for (const bool is_narrow : {false, true}) {
    for (const int bits : {0, 3, 6, 10, 15, 20, 25, 30, 40, 50}) {
      const double n = std::ldexp(1.0, bits);
      const Scalars f = [&](Float128 x) { return x + wave(x, n, 0); };
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        const GradcheckReport wrong = check_scalars(
            f, [](Float128) { return 1; }, is_narrow, {0.5, 0.75, 1.0}, seed);
        EXPECT_FALSE(wrong.passed()) << bits << "\n" << wrong.to_text();
        const Scalars right = [&](Float128 x) { return 1 + 2 * kPi * n * wave(x, n, 0.25); };
        const GradcheckReport report = check_scalars(f, right, is_narrow, {0.5, 0.75, 1.0}, seed);
        EXPECT_NE(report.verdict(), Verdict::kFail) << bits << "\n" << report.to_text();
        if (!is_narrow || bits <= 10) {
          EXPECT_TRUE(report.passed()) << bits << "\n" << report.to_text();
        }
      }
    }
  }
}

// The gradient of the other side of the kink, or of both together.
TEST(HiddenTest, AKinkNearThePointIsSeen) {
  for (const bool is_narrow : {false, true}) {
    for (int bits = 2; bits <= 50; bits += 3) {
      for (const double side : {-1.0, 1.0}) {
        const double kink = 1.0 + side * 1.3 * std::ldexp(1.0, -bits);
        const Scalars f = [&](Float128 x) { return x > kink ? 2 * x - kink : x; };
        for (const double wrong : {1.5, side > 0 ? 2.0 : 1.0}) {
          for (uint64_t seed = 1; seed <= 3; ++seed) {
            const GradcheckReport report = check_scalars(
                f, [&](Float128) { return wrong; }, is_narrow, {1.0}, seed);
            EXPECT_FALSE(report.passed()) << side << " 2^-" << bits << ", " << wrong << "\n"
                                          << report.to_text();
          }
        }
        const GradcheckReport right = check_scalars(
            f, [&](Float128 x) { return x > kink ? 2 : 1; }, is_narrow, {1.0}, 1);
        EXPECT_NE(right.verdict(), Verdict::kFail) << side << " 2^-" << bits << "\n"
                                                   << right.to_text();
        if (!is_narrow) {
          EXPECT_TRUE(right.passed()) << right.to_text();
        }
      }
    }
  }
}

// A narrow bend, which is a straight line from afar.
TEST(HiddenTest, ABendNearThePointIsSeen) {
  for (const bool is_narrow : {false, true}) {
    for (int bits = 4; bits <= 44; bits += 4) {
      const double width = std::ldexp(1.0, -bits);
      const Scalars f = [&](Float128 x) { return x + width * float128::tanh((x - 1) / width); };
      for (const double at : {1.0, 1.0 + 0.7 * width}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          const GradcheckReport report = check_scalars(
              f, [](Float128) { return 1; }, is_narrow, {at}, seed);
          EXPECT_FALSE(report.passed()) << "2^-" << bits << "\n" << report.to_text();
        }
      }
    }
  }
}

// f reads doubles. One element or output is small beside the others, or beside a constant.
TEST(HiddenTest, WhatRoundingHidesDoesNotPass) {
  constexpr double kSizes[] = {1e3, 1e6, 1e9, 1e12, 1e15, 1e18};
  const std::vector<HiddenCase> cases = hidden_cases(kSizes);
  for (const HiddenCase& one : cases) {
    for (const double factor : {0.0, -1.0, 2.0, 1.01}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const Tensor x = leaf({std::ssize(one.at)}, one.at);
        const auto check = [&](double of_first) {
          return gradcheck(
              [&](std::span<const Tensor> in) {
                const Tensor first = apply_scalars(
                    part(in[0], 0), [](Float128 number) { return number; },
                    [&](Float128) { return of_first; }, true);
                return one.f(concat({first, part(in[0], 1)}, 0));
              },
              {&x, 1}, {.seed = seed});
        };
        const GradcheckReport wrong = check(factor), right = check(1.0);
        EXPECT_EQ(wrong.computed_in, "f64");
        EXPECT_FALSE(wrong.passed()) << one.name << ", " << factor << "\n" << wrong.to_text();
        EXPECT_NE(right.verdict(), Verdict::kFail) << one.name << "\n" << right.to_text();
      }
    }
  }
}

// The same in f128, where it takes a larger constant.
TEST(HiddenTest, AZeroThatRoundingHidesInF128DoesNotPass) {
  for (const double size : {1e20, 1e30, 1e40}) {
    const Scalars f = [&](Float128 x) { return float128::exp(x) + size; };
    const GradcheckReport report = check_scalars(
        f, [](Float128) { return 0; }, false, {0.7, 1.3}, 1);
    EXPECT_EQ(report.computed_in, "f128");
    EXPECT_FALSE(report.passed()) << size << "\n" << report.to_text();
  }
}

}  // namespace
}  // namespace qkv
