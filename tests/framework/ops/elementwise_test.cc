#include "framework/ops/support/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

namespace math = kernels::math;

Tensor softplus(const Tensor& x, const ElementDerivative& derivative) {
  return elementwise(
      "softplus", x, [](auto number) { return math::log(1 + math::exp(number)); }, derivative);
}

Tensor derivative(const Tensor& x) { return sigmoid(x); }

TEST(ElementwiseTest, GivesTheFunctionAndItsDerivative) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = parameter(cast(leaf({3}, {-1.0, 0.0, 2.0}), dtype).array());
    const Tensor y = softplus(x, derivative);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y.to_vector(), {0.31326169, 0.69314718, 2.12692801}, 1e-6);
    expect_near(backward(sum(y))[x].to_vector(), {0.26894142, 0.5, 0.88079708}, 1e-6);
  }
}

TEST(ElementwiseTest, IsCheckedInF128) {
  const Tensor x = leaf({4}, {-3.0, -0.2, 0.4, 30.0});
  const auto check = [&](const ElementDerivative& f) {
    return gradcheck([&](std::span<const Tensor> in) { return softplus(in[0], f); }, {&x, 1},
                     {.order = 2});
  };
  const GradcheckReport right = check(derivative);
  EXPECT_TRUE(right.passed()) << right.to_text();
  EXPECT_EQ(right.computed_in, "f128");
  EXPECT_LT(right.formulas[0].resolved_to, 1e-18);
  const GradcheckReport wrong =
      check([](const Tensor& in) { return scale(sigmoid(in), 1 + 1e-12); });
  EXPECT_EQ(wrong.verdict(), Verdict::kFail) << wrong.to_text();
}

TEST(ElementwiseTest, NamesItselfWhereATypeIsNoNumber) {
  expect_error("softplus: needs f32 or f64, not bf16; cast it to f32 first",
               [] { softplus(cast(zeros({2}), DType::bf16), derivative); });
}

}  // namespace
}  // namespace qkv
