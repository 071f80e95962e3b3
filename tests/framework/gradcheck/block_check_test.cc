// In inputs with many elements, every element is checked. QKV_GRADCHECK_SEEDS=12 in the environment
// looks at more of them.

#include "framework/gradcheck/block_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kElements = 20000;

Tensor many() { return normal_like(zeros({kElements}, DType::f64), 3); }
Tensor numbers_of_all_sizes() { return exp(3.5 * many()); }  // 1e-6 … 1e6

uint64_t seeds() {
  const char* text = std::getenv("QKV_GRADCHECK_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

using Function = Tensor (*)(const Tensor& x);

struct Subject {
  const char* name;
  Function f;
  double least;  // error that is found, as a part of the derivative of any of the elements
  Tensor (*at)() = many;
};

const Subject kSubjects[] = {
    {"tanh x", [](const Tensor& x) { return tanh(x); }, 1e-6},
    {"x^3", [](const Tensor& x) { return x * x * x; }, 1e-6},
    {"sum(x^2)", [](const Tensor& x) { return sum(x * x); }, 1e-6},
    {"log_softmax",
     [](const Tensor& x) {
       return log_softmax(reshape(x, {200, 100}));
     },
     1e-5},
    {"gelu(x) W",
     [](const Tensor& x) {
       return matmul(gelu(reshape(x, {200, 100})), normal_like(zeros({100, 8}, DType::f64), 4));
     },
     1e-6},
    {"exp(8 x)", [](const Tensor& x) { return exp(8.0 * x); }, 1e-5},
    {"log of all sizes", [](const Tensor& x) { return log(x); }, 1e-5, numbers_of_all_sizes},
};

// The gradient of f, with that of some elements multiplied.
GradcheckReport check_with_factors(Function f, const Tensor& x,
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

TEST(BlockCheckTest, WhatIsRightPassesWithEverySeed) {
  for (const Subject& subject : kSubjects) {
    for (uint64_t seed = 1; seed <= seeds(); ++seed) {
      const Tensor x = subject.at();
      const GradcheckReport report = gradcheck(
          [&](std::span<const Tensor> in) { return subject.f(in[0]); }, {&x, 1}, {.seed = seed});
      EXPECT_TRUE(report.passed()) << subject.name << "\n" << report.to_text();
      EXPECT_LE(report.inputs[0].blocks.missed, 1e-6);
    }
  }
}

TEST(BlockCheckTest, FindsTheOneElementThatIsALittleOff) {
  int64_t element = 77;
  for (const Subject& subject : kSubjects) {
    for (const double off : {1e-4, subject.least}) {
      for (uint64_t seed = 1; seed <= seeds(); ++seed) {
        element = (element * 48271 + 11) % kElements;
        const GradcheckReport report =
            check_with_factors(subject.f, subject.at(), {{element, 1.0 + off}}, {.seed = seed});
        const InputReport& input = report.inputs[0];
        const int64_t found =
            input.failed > 0 ? input.worst[0].element : input.blocks.worst.element;
        EXPECT_EQ(report.verdict(), Verdict::kFail) << subject.name << ", " << off << "\n"
                                                    << report.to_text();
        // Among elements of all sizes rounding may hide which of a block it is.
        if (subject.at == many) {
          EXPECT_EQ(found, element) << subject.name << ", " << off << "\n" << report.to_text();
        }
      }
    }
  }
}

// In one block they cancel for half of the signs.
TEST(BlockCheckTest, FindsTwoErrorsThatMayCancel) {
  const Function f = [](const Tensor& x) { return sum(x); };
  for (uint64_t seed = 1; seed <= 5 * seeds(); ++seed) {
    const GradcheckReport report = check_with_factors(
        f, many(), {{12, 1.0 + 1e-5}, {kElements - 5, 1.0 - 1e-5}}, {.seed = seed});
    EXPECT_EQ(report.verdict(), Verdict::kFail) << report.to_text();
  }
}

TEST(BlockCheckTest, ThePlanHoldsItsPromise) {
  for (const int64_t elements : {30, 4096, 4097, 20000, 1000000, 100000000}) {
    const BlockPlan plan = plan_blocks(elements);
    EXPECT_LE(plan.blocks * plan.rounds, 192) << elements;
    EXPECT_LE(plan.missed, 1e-6) << elements;
    EXPECT_DOUBLE_EQ(plan.missed, std::pow(2.0 * double(plan.blocks), -double(plan.rounds)));
  }
  EXPECT_EQ(plan_blocks(20).blocks, 0);  // as many as the differences of one block
}

// Every element has its kink, but not here.
TEST(BlockCheckTest, KinksBesideThePointAreSteppedAround) {
  const Tensor x = many();
  const GradcheckReport report =
      gradcheck([](std::span<const Tensor> in) { return relu(in[0]); }, {&x, 1});
  EXPECT_TRUE(report.passed()) << report.to_text();
}

}  // namespace
}  // namespace qkv
