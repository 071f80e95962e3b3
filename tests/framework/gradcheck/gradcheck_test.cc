// The checker is checked: what is planted wrong must be caught.

#include "framework/gradcheck/gradcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "framework/autograd/backward.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using Backward = PlantedBackward;

GradcheckReport check(const TensorFunction& f, const Backward& dx, const Tensor& x, int order = 1) {
  return check_planted(f, dx, x, {.order = order});
}

GradcheckReport check_cube(const Backward& dx, int order = 1) {
  const TensorFunction cube = [](std::span<const Tensor> x) { return x[0] * x[0] * x[0]; };
  return check(cube, dx, leaf({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}), order);
}

Tensor cube_backward(const Tensor& x, const Tensor& dy) { return 3.0 * (x * x) * dy; }

TEST(GradcheckTest, TheWorstElementComesFirst) {
  const GradcheckReport report =
      check_cube([](auto& x, auto& dy) { return 2.0 * cube_backward(x, dy); });
  const std::vector<ElementReport>& worst = report.inputs[0].worst;
  ASSERT_GT(worst.size(), 1u);
  EXPECT_GT(worst[0].error, worst.back().error);
}

TEST(GradcheckTest, CatchesNaNAndInfinity) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const GradcheckReport report = check_cube([&](auto& x, auto& dy) {
      const Tensor here = constant({2, 3}, {0, 0, 0, 0, bad, 0}, DType::f64);
      return cube_backward(x, dy) + here;
    });
    EXPECT_FALSE(report.passed());
    EXPECT_EQ(report.inputs[0].worst[0].element, 4) << report.to_text();
  }
}

TEST(GradcheckTest, CatchesAWrongSecondOrderBehindARightFirst) {
  const auto forgets_x = [](const Tensor& x, const Tensor& dy) {
    return cube_backward(x.detached(), dy);
  };
  EXPECT_TRUE(check_cube(forgets_x, 1).passed());
  const GradcheckReport report = check_cube(forgets_x, 2);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.inputs[1].order, 2);
  EXPECT_FALSE(report.inputs[1].passed());
}

TEST(GradcheckTest, CatchesASecondOrderThatForgetsTheCotangent) {
  const auto forgets_dy = [](const Tensor& x, const Tensor& dy) {
    return cube_backward(x, dy.detached());
  };
  EXPECT_TRUE(check_cube(forgets_dy, 1).passed());
  const GradcheckReport report = check_cube(forgets_dy, 2);
  ASSERT_EQ(report.inputs.size(), 3u);
  EXPECT_TRUE(report.inputs[1].passed());
  EXPECT_EQ(report.inputs[2].name, "cotangent");
  EXPECT_FALSE(report.inputs[2].passed());
}

TEST(GradcheckTest, TheReportNamesTheWorstElementOfEachInput) {
  const std::vector<Tensor> inputs = {leaf({2}, {1.0, 2.0}), leaf({2, 2}, {1, 2, 3, 4})};
  const TensorFunction f = [](std::span<const Tensor> x) {
    const Backward wrong_at_the_third = [](const Tensor&, const Tensor& dy) {
      return dy * constant({2, 2}, {1, 1, 1.5, 1}, DType::f64);
    };
    const TensorFunction same = [](auto in) { return in[0]; };
    return x[0] * apply<Planted>({x[1]}, same, wrong_at_the_third);
  };
  const GradcheckReport report = gradcheck(f, inputs);
  ASSERT_EQ(report.inputs.size(), 2u);
  EXPECT_TRUE(report.inputs[0].passed());
  EXPECT_EQ(report.inputs[0].name, "input 0");
  EXPECT_FALSE(report.inputs[1].passed());
  const ElementReport& wrong = report.inputs[1].worst[0];
  EXPECT_EQ(wrong.element, 2);
  const auto analytic = static_cast<double>(wrong.analytic),
             numeric = static_cast<double>(wrong.numeric);
  EXPECT_NEAR(analytic, 1.5 * numeric, 1e-9);
  EXPECT_NEAR(wrong.error, std::abs(0.5 * numeric), 1e-9);
  EXPECT_LT(wrong.tolerance, wrong.error);
  EXPECT_THAT(report.to_text(),
              HasSubstr("FAIL at [1, 0] of output [1, 0]: analytic 1.5, numeric 1 "));
  EXPECT_THAT(report.to_text(), HasSubstr("FAIL: 1 of 2: 24 derivatives\n"));
}

TEST(GradcheckTest, AllDerivativesAreCheckedAtOnceHoweverManyThereAre) {
  const auto evaluations_of = [](int64_t size) {
    const Tensor x = normal_like(zeros({size}, DType::f64), 3);
    const auto f = [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; };
    const GradcheckReport report = gradcheck(f, {&x, 1});
    EXPECT_TRUE(report.passed()) << report.to_text();
    EXPECT_EQ(report.computed_in, "f128");
    EXPECT_EQ(report.inputs[0].elements, 0);  // by themselves
    EXPECT_EQ(report.derivatives, size * size);
    EXPECT_LT(report.formulas[0].disagreement, 1e-18);
    EXPECT_LT(report.formulas[0].resolved_to, 1e-17);
    return report.evaluations;
  };
  EXPECT_EQ(evaluations_of(10), evaluations_of(20));
}

TEST(GradcheckTest, TellsHowManyDigitsF64Keeps) {
  const Tensor x = leaf({2}, {1.0, 2.0}), far = leaf({2}, {1e8 + 1.0, 1e8 + 3.0});
  const auto norm = [](std::span<const Tensor> in) {
    return layer_norm(in[0], constant({2}, {1.0, 2.0}, DType::f64), zeros({2}, DType::f64), 1.0);
  };
  const GradcheckReport good = gradcheck(norm, {&x, 1}), poor = gradcheck(norm, {&far, 1});
  EXPECT_TRUE(good.passed() && poor.passed()) << good.to_text() << poor.to_text();
  EXPECT_GT(good.inputs[0].digits, 14.0);
  EXPECT_THAT(good.to_text(), HasSubstr("f64 keeps 15 digits"));
}

// The backward of f64 has a mistake that the formula has not.
TEST(GradcheckTest, CatchesAKernelOfF64ThatIsWrong) {
  const TensorFunction f = [](std::span<const Tensor> x) { return 3.0 * x[0]; };
  const auto wrong_in_f64 = [](const Tensor&, const Tensor& dy) {
    return (dy.dtype() == DType::f64 ? 3.0 + 1e-13 : 3.0) * dy;
  };
  const GradcheckReport report = check(f, wrong_in_f64, leaf({2}, {1.0, 2.0}));
  EXPECT_EQ(report.inputs[0].in_f64.verdict, Verdict::kFail) << report.to_text();
  EXPECT_FALSE(report.passed());
}

TEST(GradcheckTest, OnlyTheVerdictIsTheVerdict) {
  const Tensor x = normal_like(zeros({100}, DType::f64), 3);
  const TensorFunction f = [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; };
  const auto wrong = [](const Tensor& in, const Tensor& dy) { return 2.0 * cube_backward(in, dy); };
  const GradcheckReport all = check_planted(f, wrong, x),
                        one = check_planted(f, wrong, x, {.only_verdict = true});
  EXPECT_EQ(all.verdict(), Verdict::kFail);
  EXPECT_EQ(one.verdict(), Verdict::kFail);
  EXPECT_LT(one.evaluations, all.evaluations / 2);
  EXPECT_TRUE(check_planted(f, cube_backward, x, {.only_verdict = true}).passed());
}

TEST(GradcheckTest, InputsHaveTheNamesOfTheOptions) {
  const std::vector<Tensor> inputs = {leaf({2}, {1.0, 2.0}), leaf({2}, {3.0, 4.0})};
  const TensorFunction f = [](std::span<const Tensor> x) { return x[0] * x[1]; };
  const GradcheckReport report =
      gradcheck(f, inputs, {.order = 2, .names = {"blocks.0.norm.weight", "x"}});
  EXPECT_EQ(report.inputs[0].name, "blocks.0.norm.weight");
  EXPECT_EQ(report.inputs[4].name, "cotangent");
  EXPECT_THAT(report.to_text(), HasSubstr("PASS  order 1  blocks.0.norm.weight f64[2]: "));
  expect_error("gradcheck: 2 inputs and 1 names", [&] { gradcheck(f, inputs, {.names = {"x"}}); });
}

TEST(GradcheckTest, LeavesItsInputsAsTheyWere) {
  const Tensor x = leaf({2}, {1.0, 2.0});
  gradcheck([](auto in) { return exp(in[0]); }, {&x, 1}, {.order = 2});
  EXPECT_EQ(x.to_vector(), (std::vector<double>{1.0, 2.0}));
}

TEST(GradcheckTest, Misuse) {
  const TensorFunction f = [](TensorSpan x) { return exp(x[0]); };
  const TensorFunction nothing = [](TensorSpan) { return Tensor(); };
  const Tensor wide = zeros({64}, DType::f64);
  uint64_t draws = 0;
  const TensorFunction restless = [&](TensorSpan x) {
    return dropout(x[0] + 1.0, 0.5, RandomStream(++draws));
  };
  int calls = 0;
  const TensorFunction changing = [&](TensorSpan x) {
    return add_scalar(x[0], ++calls > 2 ? 2.0 : 1.0);
  };
  struct Case {
    TensorFunction f;
    Tensor x;
    int order;
    std::string error;
  };
  const Case cases[] = {
      {f, zeros({2}, DType::bf16), 1,
       "needs f64 or f32: input 0 is bf16[2], which holds too few digits to tell a wrong "
       "derivative from a rounded one"},
      {f, zeros({2}, DType::boolean), 1, "no input is f64 or f32, so there is nothing to check"},
      {f, Tensor(), 1, "input 0 is undefined"},
      {nothing, wide, 1, "the function gives an undefined tensor"},
      {f, wide, 3, "order must be 1 or 2, not 3"},
      {restless, wide, 1, "the function gives different numbers each time it is called"},
      {changing, wide, 1, "the function gives different numbers each time it is called"},
  };
  for (const Case& c : cases) {
    expect_error("gradcheck: " + c.error, [&] { gradcheck(c.f, {&c.x, 1}, {.order = c.order}); });
  }
}

// A backward that gives no gradient is a FAIL in the report, whatever it does instead.

using Gradient = std::function<std::vector<Tensor>(const Tensor& dy)>;

// y = a + b, whose backward may do anything.
class SumOfAll final : public Op {
 public:
  explicit SumOfAll(Gradient gradient) : gradient_(std::move(gradient)) {}
  std::string_view name() const override { return "my_sum"; }
  Array forward(const Inputs& x) override { return add(Tensor(x[0]), Tensor(x[1])).array(); }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return gradient_(dy);
  }

 private:
  Gradient gradient_;
};

GradcheckReport check_sum(const Gradient& gradient) {
  const std::vector<Tensor> inputs = {random({2, 3}, 1), random({2, 3}, 2)};
  return gradcheck(
      [&](TensorSpan x) {
        return apply<SumOfAll>({x[0], x[1]}, gradient);
      },
      inputs, {.names = {"a", "b"}});
}

void expect_failing_with(const Gradient& gradient, const std::string& sentence) {
  const GradcheckReport report = check_sum(gradient);
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  EXPECT_EQ(report.to_text(), "FAIL  order 1  a f64[2, 3]: " + sentence +
                                  "\nFAIL  order 1  b f64[2, 3]: " + sentence +
                                  "\nFAIL: 2 of 2: 0 derivatives\n");
}

TEST(BackwardErrorTest, AGradientOfTheWrongShapeFails) {
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, transpose(dy, 0, 1)};
      },
      "my_sum: backward gave f128[3, 2] for input 1 f128[2, 3]");
}

TEST(BackwardErrorTest, TheWrongNumberOfGradientsFails) {
  expect_failing_with([](const Tensor& dy) { return std::vector{dy}; },
                      "my_sum: backward gave 1 gradient for 2 inputs");
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, dy, dy};
      },
      "my_sum: backward gave 3 gradients for 2 inputs");
}

TEST(BackwardErrorTest, ABackwardThatThrowsFails) {
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, matmul(dy, dy)};
      },
      "backward of my_sum: matmul: inner sizes differ: a f128[2, 3], b f128[2, 3]: 3 and "
      "2; did you mean transpose_b?");
  expect_failing_with(
      [](const Tensor&) -> std::vector<Tensor> { throw std::runtime_error("no idea"); },
      "backward of my_sum: no idea");
}

// The gradient is right, and cannot be differentiated again.
TEST(BackwardErrorTest, ABackwardOfTheBackwardThatThrowsFails) {
  const Gradient none = [](const Tensor&) -> std::vector<Tensor> {
    throw std::runtime_error("no idea");
  };
  expect_failing_with(
      [&](const Tensor& dy) {
        const Tensor same = apply<SumOfAll>({dy, zeros(dy.shape(), dy.dtype())}, none);
        return std::vector{same, same};
      },
      "backward of my_sum: no idea");
}

TEST(BackwardErrorTest, OfBackwardAloneItIsAnErrorThatNamesTheOp) {
  const Tensor x = leaf({2}, {1, 2});
  expect_error("my_sum: backward gave 1 gradient for 2 inputs", [&] {
    backward(sum(apply<SumOfAll>({x, x}, [](const Tensor& dy) { return std::vector{dy}; })));
  });
}

}  // namespace
}  // namespace qkv
