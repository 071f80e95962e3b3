// What hides a wrong gradient: a period that fits the steps, a kink beside the point, a large
// number beside a small one. None of it may pass.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr double kPi = std::numbers::pi;

// What f computes in, and is checked in. Bends of a smaller width are no more than its rounding.
struct Precision {
  const char* name;
  DType dtype;
  bool is_narrow;
  int bits_of_kinks, bits_of_bends;
};
constexpr Precision kF128 = {"f128", DType::f64, false, 50, 44},
                    kF64 = {"f64", DType::f64, true, 50, 44},
                    kF32 = {"f32", DType::f32, true, 30, 18};

Tensor point(const Precision& precision, const std::vector<double>& at) {
  return constant({std::ssize(at)}, at, precision.dtype);
}

// sin(2 pi n x), without what sin loses of large numbers.
Float128 wave(Float128 x, double n, double phase) {
  const Float128 turns = n * x;
  const Float128 part = turns - static_cast<Float128>(static_cast<int64_t>(turns));
  return float128::sin(2 * Float128(kPi) * (part + phase));
}

TEST(HiddenTest, APeriodThatDividesPowersOfTwoIsSeen) {
  for (const Precision& in : {kF128, kF64}) {
    const Tensor x = point(in, {0.5, 0.75, 1.0});
    for (const int bits : {0, 3, 6, 10, 15, 20, 25, 30, 40, 50}) {
      const double n = std::ldexp(1.0, bits);
      const Scalars f = [&](Float128 t) { return t + wave(t, n, 0); };
      const Scalars of_t = [](Float128) { return 1; };
      const Scalars right = [&](Float128 t) { return 1 + 2 * kPi * n * wave(t, n, 0.25); };
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(bits);
        const GradcheckReport wrong = check_scalars(x, f, of_t, in.is_narrow, seed);
        EXPECT_FALSE(wrong.passed()) << wrong.to_text();
        const GradcheckReport report = check_scalars(x, f, right, in.is_narrow, seed);
        EXPECT_NE(report.verdict(), Verdict::kFail) << report.to_text();
        if (!in.is_narrow || bits <= 10) {
          EXPECT_TRUE(report.passed()) << report.to_text();
        }
      }
    }
  }
}

// The gradient of the other side of the kink, or of both together.
TEST(HiddenTest, AKinkNearThePointIsSeen) {
  for (const Precision& in : {kF128, kF64, kF32}) {
    const Tensor x = point(in, {1.0});
    for (int bits = 2; bits <= in.bits_of_kinks; bits += 3) {
      for (const double side : {-1.0, 1.0}) {
        SCOPED_TRACE(absl::StrCat(in.name, ", ", side, " 2^-", bits));
        const double kink = 1.0 + side * 1.3 * std::ldexp(1.0, -bits);
        const Scalars f = [&](Float128 t) { return t > kink ? 2 * t - kink : t; };
        const Scalars right = [&](Float128 t) { return t > kink ? 2 : 1; };
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          for (const double slope : {1.5, side > 0 ? 2.0 : 1.0}) {
            const Scalars wrong = [=](Float128) { return slope; };
            const GradcheckReport report = check_scalars(x, f, wrong, in.is_narrow, seed);
            EXPECT_FALSE(report.passed()) << slope << "\n" << report.to_text();
          }
          const GradcheckReport report = check_scalars(x, f, right, in.is_narrow, seed);
          EXPECT_NE(report.verdict(), Verdict::kFail) << report.to_text();
          EXPECT_TRUE(report.passed() || in.is_narrow) << report.to_text();
        }
      }
    }
  }
}

// A narrow bend, which is a straight line from afar.
TEST(HiddenTest, ABendNearThePointIsSeen) {
  for (const Precision& in : {kF128, kF64, kF32}) {
    for (int bits = 2; bits <= in.bits_of_bends; bits += 3) {
      const double width = std::ldexp(1.0, -bits);
      const Scalars f = [&](Float128 t) { return t + width * float128::tanh((t - 1) / width); };
      for (const double at : {1.0, 1.0 + 0.7 * width}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          const GradcheckReport report = check_scalars(
              point(in, {at}), f, [](Float128) { return 1; }, in.is_narrow, seed);
          EXPECT_FALSE(report.passed()) << in.name << " 2^-" << bits << "\n" << report.to_text();
        }
      }
    }
  }
}

// Functions one element or output of which is small beside the others, or beside a constant.
struct HiddenCase {
  const char* name;
  std::function<Tensor(const Tensor& x)> f;
  std::vector<double> at;
};

Tensor part(const Tensor& x, int64_t i) { return slice(x, 0, i, 1); }

std::vector<HiddenCase> hidden_cases(std::span<const double> sizes) {
  std::vector<HiddenCase> cases;
  for (const double size : sizes) {
    cases.push_back({"a constant", [=](const Tensor& x) { return x * x + size; }, {0.7, 1.3}});
    cases.push_back(
        {"a constant in a sum", [=](const Tensor& x) { return sum(x * x) + size; }, {0.7, 1.3}});
    cases.push_back({"a large element", [](const Tensor& x) { return sum(x * x); }, {0.7, size}});
    cases.push_back({"a large term",
                     [=](const Tensor& x) { return size * part(x, 1) + exp(part(x, 0)); },
                     {0.7, 1.3}});
    cases.push_back(
        {"a small factor", [=](const Tensor& x) { return x / size + 1.0; }, {0.7, 1.3}});
    cases.push_back({"a large output",
                     [=](const Tensor& x) {
                       return concat({size * part(x, 1) + exp(part(x, 0)), part(x, 1)}, 0);
                     },
                     {0.7, 1.3}});
  }
  return cases;
}

TEST(HiddenTest, WhatRoundingHidesDoesNotPass) {
  const std::pair<Precision, std::vector<double>> sizes[] = {
      {kF64, {1e3, 1e6, 1e9, 1e12, 1e15, 1e18}}, {kF32, {1e1, 1e2, 1e3, 1e4, 1e6, 1e9, 1e12}}};
  for (const auto& [in, sizes_of_cases] : sizes) {
    for (const HiddenCase& one : hidden_cases(sizes_of_cases)) {
      const Tensor x = point(in, one.at);
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        const auto check = [&](double of_first) {
          return gradcheck(
              [&](TensorSpan t) {
                return one.f(concat({with_factor(part(t[0], 0), of_first), part(t[0], 1)}, 0));
              },
              {&x, 1}, {.seed = seed});
        };
        const GradcheckReport right = check(1.0);
        EXPECT_NE(right.verdict(), Verdict::kFail) << one.name << "\n" << right.to_text();
        for (const double factor : {0.0, -1.0, 2.0, 1.01}) {
          const GradcheckReport wrong = check(factor);
          EXPECT_EQ(wrong.computed_in, dtype_name(x.dtype()));
          EXPECT_FALSE(wrong.passed()) << one.name << ", " << factor << "\n" << wrong.to_text();
        }
      }
    }
  }
}

// In f128 it takes a larger constant.
TEST(HiddenTest, AZeroThatRoundingHidesInF128DoesNotPass) {
  for (const double size : {1e20, 1e30, 1e40}) {
    const Scalars f = [&](Float128 x) { return float128::exp(x) + size; };
    const GradcheckReport report = check_scalars(
        point(kF128, {0.7, 1.3}), f, [](Float128) { return 0; }, false, 1);
    EXPECT_EQ(report.computed_in, "f128");
    EXPECT_FALSE(report.passed()) << size << "\n" << report.to_text();
  }
}

// A Jacobian with more entries than the check reports one by one.
TEST(HiddenTest, ForwardModeTellsWhatF128Hides) {
  const Tensor x = point(kF128, std::vector<double>(65, 0.7));
  const GradcheckReport report =
      gradcheck([](TensorSpan t) { return t[0] * t[0] + 1e30; }, {&x, 1}, {.seed = 1});
  EXPECT_TRUE(report.passed()) << report.to_text();
  EXPECT_NE(report.inputs[0].worst[0].note.find("forward mode"), std::string::npos);
}

}  // namespace
}  // namespace qkv
