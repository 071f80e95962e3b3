// In inputs with many elements, every element is checked. QKV_GRADCHECK_SEEDS=12 in the environment
// looks at more of them.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/false_alarm.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

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
