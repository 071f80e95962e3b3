// In inputs with many elements, every element is checked. QKV_GRADCHECK_SEEDS=12 in the environment
// looks at more of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kElements = 5000;

Tensor many() { return normal_like(zeros({kElements}, DType::f64), 3); }
Tensor numbers_of_all_sizes() { return exp(3.5 * many()); }  // 1e-6 … 1e6

uint64_t seeds() {
  const char* text = std::getenv("QKV_GRADCHECK_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

using FunctionOfOne = Tensor (*)(const Tensor& x);

struct LargeInput {
  std::string_view name;
  FunctionOfOne f;
  Tensor (*at)() = many;
};

const LargeInput kLargeInputs[] = {
    {"tanh x", [](const Tensor& x) { return tanh(x); }},
    {"x^3", [](const Tensor& x) { return x * x * x; }},
    {"sum(x^2)", [](const Tensor& x) { return sum(x * x); }},
    {"log_softmax",
     [](const Tensor& x) {
       return log_softmax(reshape(x, {50, 100}));
     }},
    {"gelu(x) W",
     [](const Tensor& x) {
       return matmul(gelu(reshape(x, {50, 100})), normal_like(zeros({100, 8}, DType::f64), 4));
     }},
    {"exp(8 x)", [](const Tensor& x) { return exp(8.0 * x); }},
    {"log of all sizes", [](const Tensor& x) { return log(x); }, numbers_of_all_sizes},
};

// The gradient of f, with that of some elements multiplied.
GradcheckReport check_with_factors(FunctionOfOne f, const Tensor& x,
                                   const std::vector<std::pair<int64_t, double>>& wrong,
                                   const GradcheckOptions& options) {
  std::vector<double> factors(kElements, 1.0);
  for (const auto& [element, factor] : wrong) factors[static_cast<size_t>(element)] = factor;
  const Tensor all_factors = Tensor(Array::of({kElements}, DType::f64, factors));
  const TensorFunction identity = [](std::span<const Tensor> in) { return scale(in[0], 1.0); };
  const PlantedBackward multiplied = [&](const Tensor&, const Tensor& dy) {
    return dy * all_factors;
  };
  return gradcheck(
      [&](std::span<const Tensor> in) { return f(apply<Planted>({in[0]}, identity, multiplied)); },
      {&x, 1}, options);
}

TEST(LargeInputTest, WhatIsRightPassesWithEverySeed) {
  for (const LargeInput& subject : kLargeInputs) {
    for (uint64_t seed = 1; seed <= seeds(); ++seed) {
      const Tensor x = subject.at();
      const GradcheckReport report = gradcheck(
          [&](std::span<const Tensor> in) { return subject.f(in[0]); }, {&x, 1}, {.seed = seed});
      EXPECT_TRUE(report.passed()) << subject.name << "\n" << report.to_text();
    }
  }
}

TEST(LargeInputTest, FindsTheOneElementThatIsALittleOff) {
  constexpr double kOff = 1e-8;
  int64_t element = 77;
  for (const char* name : {"tanh x", "log_softmax", "log of all sizes"}) {
    const LargeInput& subject =
        *std::ranges::find(kLargeInputs, std::string_view(name), &LargeInput::name);
    for (uint64_t seed = 1; seed <= seeds(); ++seed) {
      element = (element * 48271 + 11) % kElements;
      const GradcheckReport report =
          check_with_factors(subject.f, subject.at(), {{element, 1.0 + kOff}}, {.seed = seed});
      const InputReport& input = report.inputs[0];
      EXPECT_EQ(report.verdict(), Verdict::kFail) << name << "\n" << report.to_text();
      ASSERT_EQ(input.failed, 1) << name << "\n" << report.to_text();
      EXPECT_EQ(input.worst[0].element, element) << name;
    }
  }
}

TEST(LargeInputTest, FindsTwoErrorsThatMayCancel) {
  const FunctionOfOne f = [](const Tensor& x) { return sum(x); };
  for (uint64_t seed = 1; seed <= 5 * seeds(); ++seed) {
    const GradcheckReport report = check_with_factors(
        f, many(), {{12, 1.0 + 1e-5}, {kElements - 5, 1.0 - 1e-5}}, {.seed = seed});
    EXPECT_EQ(report.verdict(), Verdict::kFail) << report.to_text();
  }
}

// Every element has its kink, but not here.
TEST(LargeInputTest, KinksBesideThePointAreNone) {
  const Tensor x = many();
  const GradcheckReport report =
      gradcheck([](std::span<const Tensor> in) { return relu(in[0]); }, {&x, 1});
  EXPECT_TRUE(report.passed()) << report.to_text();
}

}  // namespace
}  // namespace qkv
