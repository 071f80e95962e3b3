// Forward mode against what is derived by hand, against backward, and against wrong backwards.

#include "framework/gradcheck/derivatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

Tensor numbers(std::initializer_list<double> values) {
  return constant({static_cast<int64_t>(values.size())}, values, DType::f64);
}

TEST(ForwardModeTest, HandsATangentFromOpToOp) {
  // dy = exp(a) (b da + db)
  const auto f = [](std::span<const Tensor> x) { return exp(x[0]) * x[1]; };
  const Tensor a = numbers({0.0, 1.0}), b = numbers({3.0, 5.0});
  const Tensor dy =
      ForwardMode(f, {{a, b}}).derivative({{numbers({2.0, 1.0}), numbers({7.0, 0.5})}});
  EXPECT_DOUBLE_EQ(dy.to_vector()[0], 3.0 * 2.0 + 7.0);
  EXPECT_DOUBLE_EQ(dy.to_vector()[1], std::numbers::e * (5.0 * 1.0 + 0.5));
}

TEST(ForwardModeTest, WhatDoesNotMoveHasNoTangent) {
  const auto f = [](std::span<const Tensor> x) { return exp(x[0]) + x[1].detached(); };
  const Tensor x = numbers({1.0}), u = numbers({1.0});
  const ForwardMode forward(f, {{x, x}});
  EXPECT_DOUBLE_EQ(forward.value().item(), std::numbers::e + 1.0);
  EXPECT_DOUBLE_EQ(forward.derivative({{u, Tensor()}}).item(), std::numbers::e);
  EXPECT_FALSE(forward.derivative({{Tensor(), u}}).defined());
}

TEST(ForwardModeTest, AFunctionMayBeItsInput) {
  const auto f = [](std::span<const Tensor> x) { return x[0]; };
  EXPECT_THAT(
      ForwardMode(f, {{numbers({1.0, 2.0})}}).derivative({{numbers({3.0, 4.0})}}).to_vector(),
      ElementsAre(3.0, 4.0));
}

// sqrt is infinitely steep at 0, and 0 has no tangent: masked_fill took it.
TEST(ForwardModeTest, WhatIsSteepWithoutMovingStaysPut) {
  const Tensor mask(Array::of({2}, DType::boolean, std::vector<double>{1.0, 0.0}));
  const auto f = [&](std::span<const Tensor> x) { return sqrt(masked_fill(x[0], mask, 0.0)); };
  const Tensor dy = ForwardMode(f, {{numbers({5.0, 4.0})}}).derivative({{numbers({1.0, 1.0})}});
  EXPECT_THAT(dy.to_vector(), ElementsAre(0.0, 0.25));
}

TEST(ForwardModeTest, OfTwoEqualsInMaximumEachMovesItByHalf) {
  const auto f = [](std::span<const Tensor> x) { return maximum(x[0], x[1]); };
  const Tensor a = numbers({1.0, 2.0, 3.0}), b = numbers({2.0, 2.0, 2.0});
  const Tensor dy =
      ForwardMode(f, {{a, b}}).derivative({{numbers({1.0, 1.0, 1.0}), numbers({3.0, 3.0, 3.0})}});
  EXPECT_THAT(dy.to_vector(), ElementsAre(3.0, 2.0, 1.0));
}

TEST(ForwardModeTest, OfEqualsInMaxTheFirstMovesIt) {
  const auto f = [](std::span<const Tensor> x) { return max(x[0], 0); };
  const Tensor x = constant({3, 2}, {1.0, 7.0, 4.0, 7.0, 4.0, 5.0}, DType::f64);
  const Tensor u = constant({3, 2}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, DType::f64);
  EXPECT_THAT(ForwardMode(f, {{x}}).derivative({{u}}).to_vector(), ElementsAre(3.0, 2.0));
}

TEST(ForwardModeTest, AnOpWithoutARuleIsAnError) {
  const auto f = [](std::span<const Tensor> x) {
    const auto same = [](std::span<const Tensor> inputs) { return inputs[0]; };
    return apply<Planted>({x[0]}, same, [](const Tensor&, const Tensor& dy) { return dy; });
  };
  expect_error(
      "gradcheck: forward mode: no rule for planted: give it a tangent(), in the file of the op",
      [&] { ForwardMode(f, {{numbers({1.0})}}).derivative({{numbers({1.0})}}); });
}

// An op of one's own: exp, with another backward and the right tangent.
class WrongExp final : public Op, public HasTangent {
 public:
  explicit WrongExp(double factor) : factor_(factor) {}
  std::string_view name() const override { return "wrong_exp"; }
  Array forward(const Inputs& x) override { return exp(Tensor(x[0])).array(); }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {scale(exp(saved.input(0)) * dy, factor_)};
  }
  Tensor tangent(TensorSpan, const Tensor& y, TensorSpan x_dot) override { return y * x_dot[0]; }

 private:
  double factor_;
};

GradcheckReport check_exp(double factor, const GradcheckOptions& options = {}) {
  const auto f = [=](std::span<const Tensor> x) { return apply<WrongExp>({x[0]}, factor); };
  return gradcheck(f, {{numbers({0.5, -1.0, 2.0})}}, options);
}

TEST(ForwardModeTest, SeesWhatTheDotProductTestDoesNot) {
  EXPECT_TRUE(check_exp(1.0).passed());
  const GradcheckReport report = check_exp(1.0 + 1e-10);  // its own transpose
  const InputReport& input = report.inputs[0];
  EXPECT_EQ(input.dot_product.verdict, Verdict::kPass);
  EXPECT_EQ(input.forward.verdict, Verdict::kFail);
  EXPECT_EQ(input.failed, 3);  // by differences, too
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.to_text(), HasSubstr("FAIL forward mode: "));
}

// The first outputs do not depend on x, and no number of the function has a size.
TEST(ForwardModeTest, ZerosHideNoWrongOutput) {
  const auto f = [](std::span<const Tensor> x) {
    return concat({scale(x[0], 0.0), apply<WrongExp>({x[0]}, 1.0 + 1e-10) - exp(x[0])}, 0);
  };
  const GradcheckReport report = gradcheck(f, {{numbers({0.5, -1.0})}});
  EXPECT_EQ(report.inputs[0].forward.verdict, Verdict::kFail);
}

TEST(ForwardModeTest, WhatIsComputedInF32HasANote) {
  const auto f = [](std::span<const Tensor> x) {
    return cast(cast(x[0], DType::f32), DType::f64) * 0.0 + x[0];
  };
  const GradcheckReport report = gradcheck(f, {{numbers({1.5})}});
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.notes,
              ElementsAre("forward mode: no rule for cast in f32",
                          "checked in f64, where rounding may hide a derivative: cast reads "
                          "numbers as doubles"));
}

TEST(ForwardModeTest, AnOpOfOnesOwnWithoutATangentHasANoteAndPasses) {
  const auto f = [](std::span<const Tensor> x) {
    const auto same = [](std::span<const Tensor> inputs) { return inputs[0]; };
    return apply<Planted>({x[0] * x[1]}, same, [](const Tensor&, const Tensor& dy) { return dy; });
  };
  const GradcheckReport report = gradcheck(f, {{numbers({1.0}), numbers({2.0})}});
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.notes, ElementsAre("forward mode: no rule for planted"));
  EXPECT_THAT(report.to_text(), Not(HasSubstr("forward - backward")));
}

TEST(RecordedTest, ContributionsAreOfEachUseOfOneInputAndOfNoOther) {
  const std::vector<Tensor> inputs = {leaf({2}, {2, 3}), leaf({2}, {5, 7})};
  const Recorded f([](std::span<const Tensor> x) { return x[0] * x[1] + 4.0 * x[0]; }, inputs);
  const Tensor dy = ones({2}, DType::f64);
  EXPECT_THAT(f.contributions(0, dy), UnorderedElementsAre(ElementsAre(5, 7), ElementsAre(4, 4)));
  EXPECT_THAT(f.contributions(1, dy), ElementsAre(ElementsAre(2, 3)));
}

}  // namespace
}  // namespace qkv
