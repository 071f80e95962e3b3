// Where there is no derivative, no gradient passes.

#include <gtest/gtest.h>

#include <numbers>
#include <span>
#include <vector>

#include "framework/kernels/kernels.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

namespace q = float128;

Float128 power(Float128 t, double p) { return t == 0 ? Float128(0) : q::pow(q::abs(t), p); }
Float128 sign(Float128 t) { return t > 0 ? 1 : t < 0 ? -1 : 0; }
Float128 floor_of(Float128 t) {
  const Float128 whole = static_cast<Float128>(static_cast<int64_t>(t));
  return t < whole ? whole - 1 : whole;
}
Float128 cos_of(Float128 t) { return q::sin(t + std::numbers::pi / 2); }

struct Singular {
  const char* name;
  Scalars f;  // of the distance from the point
};

const Singular kJumps[] = {
    {"t > 0", [](Float128 t) { return t > 0 ? 1 : 0; }},
    {"t >= 0", [](Float128 t) { return t >= 0 ? 1 : 0; }},
    {"sign", sign},
    {"1/2 + sign / 2", [](Float128 t) { return (1 + sign(t)) / 2; }},
    {"a small jump", [](Float128 t) { return t + (t > 0 ? 1e-6 : 0.0); }},
    {"exp with a jump", [](Float128 t) { return q::exp(t) + (t >= 0 ? 1 : 0); }},
    {"exp times sign", [](Float128 t) { return q::exp(t) * sign(t); }},
    {"floor", floor_of},
    {"t - floor(t)", [](Float128 t) { return t - floor_of(t); }},
    {"an isolated 1", [](Float128 t) { return t == 0 ? 1 : 0; }},
    {"an isolated -1 in t²", [](Float128 t) { return t == 0 ? Float128(-1) : t * t; }},
    {"an isolated 0 in exp", [](Float128 t) { return t == 0 ? Float128(0) : q::exp(t); }},
};

const Singular kCorners[] = {
    {"|t|", q::abs},
    {"relu", [](Float128 t) { return std::max(t, Float128(0)); }},
    {"leaky relu", [](Float128 t) { return std::max(t, t / 100); }},
    {"relu and t", [](Float128 t) { return 3 * t + std::max(t, Float128(0)); }},
    {"|sin t|", [](Float128 t) { return q::abs(q::sin(t)); }},
    {"|t| + t²", [](Float128 t) { return q::abs(t) + t * t; }},
    {"t + |t| / 1000", [](Float128 t) { return t + q::abs(t) / 1000; }},
    {"exp(-|t|)", [](Float128 t) { return q::exp(-q::abs(t)); }},
    {"|t| cos t", [](Float128 t) { return q::abs(t) * cos_of(t); }},
    {"sqrt(1 - cos t)", [](Float128 t) { return q::abs(q::sin(t / 2)); }},
};

const Singular kCusps[] = {
    {"sqrt |t|", [](Float128 t) { return power(t, 0.5); }},
    {"-sqrt |t|", [](Float128 t) { return -power(t, 0.5); }},
    {"|t|^0.1", [](Float128 t) { return power(t, 0.1); }},
    {"|t|^(2/3)", [](Float128 t) { return power(t, 2.0 / 3.0); }},
    {"|t|^0.9", [](Float128 t) { return power(t, 0.9); }},
    {"exp(-sqrt |t|)", [](Float128 t) { return q::exp(-power(t, 0.5)); }},
    {"1 / (1 + sqrt |t|)", [](Float128 t) { return 1 / (1 + power(t, 0.5)); }},
    {"|t| log |t|", [](Float128 t) { return t == 0 ? t : q::abs(t) * q::log(q::abs(t)); }},
    {"-1 / log |t|", [](Float128 t) { return t == 0 ? t : -1 / q::log(q::abs(t) / 4); }},
};

const Singular kInfiniteSlopes[] = {
    {"sign sqrt |t|", [](Float128 t) { return sign(t) * power(t, 0.5); }},
    {"the cubic root", [](Float128 t) { return sign(t) * power(t, 1.0 / 3.0); }},
    {"sqrt, and 0 on the left", [](Float128 t) { return t > 0 ? q::sqrt(t) : 0; }},
    {"sqrt on the left", [](Float128 t) { return t < 0 ? q::sqrt(-t) : 0; }},
    {"sqrt, and t on the left", [](Float128 t) { return t > 0 ? q::sqrt(t) : t; }},
    {"t + sign |t|^0.9", [](Float128 t) { return t + sign(t) * power(t, 0.9); }},
    {"t log |t|", [](Float128 t) { return t == 0 ? t : t * q::log(q::abs(t)); }},
};

const Singular kPoles[] = {
    {"1 / t, and 0", [](Float128 t) { return t == 0 ? t : 1 / t; }},
    {"1 / t², and 0", [](Float128 t) { return t == 0 ? t : 1 / (t * t); }},
    {"1 / sqrt |t|, and 0", [](Float128 t) { return t == 0 ? t : 1 / power(t, 0.5); }},
    {"log |t|, and 0", [](Float128 t) { return t == 0 ? t : q::log(q::abs(t)); }},
    {"sin(1 / t)", [](Float128 t) { return t == 0 ? t : q::sin(1 / t); }},
    {"t sin(1 / t)", [](Float128 t) { return t == 0 ? t : t * q::sin(1 / t); }},
    {"t sin(log |t|)", [](Float128 t) { return t == 0 ? t : t * q::sin(q::log(q::abs(t))); }},
};

std::vector<Singular> singular_functions() {
  std::vector<Singular> all(std::begin(kJumps), std::end(kJumps));
  const auto add = [&](std::span<const Singular> some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(kCorners), add(kCusps), add(kInfiniteSlopes), add(kPoles);
  return all;
}

// By itself; as one of three outputs; as one of three terms.
using Among = Tensor (*)(const Tensor& x, const std::function<Tensor(const Tensor&)>& f);
const Among kAmong[] = {
    [](const Tensor& x, const std::function<Tensor(const Tensor&)>& f) { return f(x); },
    [](const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
      return concat({f(slice(x, 0, 0, 1)), exp(slice(x, 0, 1, 2))}, 0);
    },
    [](const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
      return sum(f(slice(x, 0, 0, 1))) + sum(exp(slice(x, 0, 1, 2)));
    },
};

class NoDerivativeTest : public testing::TestWithParam<bool> {};

TEST_P(NoDerivativeTest, NothingPasses) {
  const bool is_narrow = GetParam();
  const std::vector<Singular> functions = singular_functions();
  EXPECT_GE(functions.size(), 40u);
  for (const Singular& singular : functions) {
    for (const double point : {0.0, 0.75}) {
      for (size_t among = 0; among < std::size(kAmong); ++among) {
        for (const double gradient : {0.0, 0.5, 1.0}) {
          const Scalars f = [&](Float128 x) { return singular.f(x - point); };
          const Scalars derivative = [&](Float128) { return gradient; };
          const Tensor x = among == 0 ? leaf({1}, {point}) : leaf({3}, {point, 1.3, -0.4});
          const GradcheckReport report = gradcheck(
              [&](std::span<const Tensor> in) {
                return kAmong[among](in[0], [&](const Tensor& at) {
                  return apply_scalars(at, f, derivative, is_narrow);
                });
              },
              {&x, 1});
          EXPECT_EQ(report.computed_in, is_narrow ? "f64" : "f128");
          EXPECT_FALSE(report.passed()) << singular.name << " at " << point << ", place " << among
                                        << ", gradient " << gradient << "\n"
                                        << report.to_text();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, NoDerivativeTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "InF64" : "InF128"; });

// The same by ops of qkv, whose forward mode gives what backward gives.
TEST(NoDerivativeOfOpsTest, NothingPasses) {
  const auto zero_like = [](const Tensor& x) { return zeros(x.shape(), DType::f64); };
  const auto positive = [&](const Tensor& x) {
    Array mask(x.shape(), DType::boolean);
    kernels::compare(kernels::Comparison::less, zero_like(x).array(), x.array(), mask);
    return Tensor(mask);
  };
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> functions = {
      {"sqrt on the right",
       [&](const Tensor& x) {
         const Tensor inside = where(positive(x), x, ones(x.shape(), DType::f64));
         return where(positive(x), sqrt(inside), zero_like(x));
       }},
      {"a jump", [&](const Tensor& x) { return cast(positive(x), DType::f64) + x * 0.0; }},
      {"a cusp", [&](const Tensor& x) { return sqrt(maximum(x, neg(x))).detached() + x * 0.0; }},
  };
  for (const auto& function : functions) {
    for (const std::vector<double>& at :
         {std::vector<double>{0.0}, {0.0, 0.0}, {0.0, -1.0}, {0.0, 2.0, 1.0}}) {
      const Tensor x = leaf({std::ssize(at)}, at);
      const GradcheckReport report =
          gradcheck([&](TensorSpan in) { return function.second(in[0]); }, {&x, 1});
      EXPECT_EQ(report.computed_in, "f128");
      EXPECT_FALSE(report.passed()) << function.first << "\n" << report.to_text();
    }
  }
}

// f is smooth, or the derivative is 0 all the same.
TEST_P(NoDerivativeTest, WhatHasADerivativePasses) {
  struct Smooth {
    const char* name;
    Scalars f, derivative;
  };
  const Smooth functions[] = {
      {"t²", [](Float128 t) { return t * t; }, [](Float128 t) { return 2 * t; }},
      {"t³", [](Float128 t) { return t * t * t; }, [](Float128 t) { return 3 * t * t; }},
      {"t |t|", [](Float128 t) { return t * q::abs(t); }, [](Float128 t) { return 2 * q::abs(t); }},
      {"relu²", [](Float128 t) { return t > 0 ? t * t : 0; },
       [](Float128 t) { return t > 0 ? 2 * t : 0; }},
      {"t / (1 + |t|)", [](Float128 t) { return t / (1 + q::abs(t)); },
       [](Float128 t) { return 1 / ((1 + q::abs(t)) * (1 + q::abs(t))); }},
      {"|t|³", [](Float128 t) { return q::abs(t) * t * t; },
       [](Float128 t) { return 3 * t * q::abs(t); }},
  };
  for (const Smooth& smooth : functions) {
    for (size_t among = 0; among < std::size(kAmong); ++among) {
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        const Tensor x = among == 0 ? leaf({1}, {0.0}) : leaf({3}, {0.0, 1.3, -0.4});
        const GradcheckReport report = gradcheck(
            [&](std::span<const Tensor> in) {
              return kAmong[among](in[0], [&](const Tensor& at) {
                return apply_scalars(at, smooth.f, smooth.derivative, GetParam());
              });
            },
            {&x, 1}, {.seed = seed});
        EXPECT_TRUE(report.passed())
            << smooth.name << ", place " << among << ", seed " << seed << "\n"
            << report.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace qkv
