// PASS, FAIL or UNDECIDED: never a silent pass, never a false alarm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/nn/mixers/attention.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

InputReport check_one(const TensorFunction& f, const Tensor& x,
                      const GradcheckOptions& options = {}) {
  return gradcheck(f, {&x, 1}, options).inputs[0];
}

Tensor relu_of(std::span<const Tensor> x) { return relu(x[0]); }

TEST(VerdictTest, AKinkAtThePointIsUndecided) {
  const InputReport report = check_one(relu_of, leaf({3}, {1.0, 0.0, 2.0}));
  EXPECT_EQ(report.verdict, Verdict::kUndecided);
  EXPECT_EQ(report.failed, 0);
  EXPECT_EQ(report.worst[0].element, 1);
  EXPECT_THAT(report.to_text(),
              HasSubstr("a kink at the point: slope 0 on the left, 1 on the right"));
  EXPECT_FALSE(report.passed());
}

TEST(VerdictTest, ATieInMaxIsUndecided) {
  const auto f = [](std::span<const Tensor> x) { return max(x[0], 0); };
  EXPECT_EQ(check_one(f, leaf({3}, {1.0, 1.0, 0.0})).verdict, Verdict::kUndecided);
  EXPECT_EQ(check_one(f, leaf({3}, {1.0, 1.1, 0.0})).verdict, Verdict::kPass);
}

TEST(VerdictTest, AKinkAtThePointFailsWhereTheGradientIsOutsideOfBothSlopes) {
  const PlantedBackward two = [](const Tensor&, const Tensor& dy) { return 2.0 * dy; };
  const GradcheckReport report = check_planted(relu_of, two, leaf({1}, {0.0}));
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  EXPECT_THAT(report.to_text(), HasSubstr("the gradient is not between them"));
}

TEST(VerdictTest, AKinkNearThePointIsNone) {
  for (const double distance : {1e-5, -1e-5, 1e-14, -1e-300}) {
    const InputReport report = check_one(relu_of, leaf({2}, {1.0, distance}));
    EXPECT_EQ(report.verdict, Verdict::kPass) << report.to_text();
  }
}

// With a rule of forward mode.
class PlantedWithTangent final : public Op, public HasTangent {
 public:
  explicit PlantedWithTangent(double slope) : slope_(slope) {}
  std::string_view name() const override { return "planted"; }
  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    return (exp(Tensor(x[0])) + 1e40).array();
  }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {slope_ * dy * exp(saved.input(0))};
  }
  Tensor tangent(TensorSpan x, const Tensor& /*y*/, TensorSpan x_dot) override {
    return x_dot[0] * exp(x[0]);
  }

 private:
  double slope_;
};

TEST(VerdictTest, ForwardModeTellsADerivativeThatRoundingHides) {
  const auto verdict_of = [](double slope) {
    return check_one([&](auto in) { return apply<PlantedWithTangent>({in[0]}, slope); },
                     leaf({2}, {1.0, 2.0}))
        .verdict;
  };
  EXPECT_EQ(verdict_of(1.0), Verdict::kPass);
  EXPECT_NE(verdict_of(1.0 + 1e-5), Verdict::kPass);
  const PlantedBackward of_exp = [](const Tensor& x, const Tensor& dy) { return dy * exp(x); };
  const TensorFunction f = [](std::span<const Tensor> x) { return exp(x[0]) + 1e40; };
  EXPECT_EQ(check_planted(f, of_exp, leaf({2}, {1.0, 2.0})).verdict(), Verdict::kUndecided)
      << "it has no rule of forward mode";
}

// Several kinks at different distances, on both sides, and in a bent function: each is found.
TEST(VerdictTest, KinksNearABentFunctionAreFound) {
  for (const double distance : {1e-4, 2.9e-5, 5.3e-6, -7e-5, -1e-5}) {
    const TensorFunction f = [=](std::span<const Tensor> in) {
      return exp(3.0 * in[0]) + relu(in[0] - (0.5 + distance)) + relu(in[0] - (0.5 + 3 * distance));
    };
    const InputReport report = check_one(f, leaf({1}, {0.5}));
    EXPECT_EQ(report.verdict, Verdict::kPass) << report.to_text();
  }
}

TEST(VerdictTest, MovingTheInputsOffAKinkDecides) {
  const Tensor x = leaf({4}, {0.0, 0.0, 0.0, 0.0});
  EXPECT_EQ(check_one(relu_of, x).verdict, Verdict::kUndecided);
  const GradcheckReport moved = gradcheck(relu_of, {&x, 1}, {.move_by = 0.1});
  EXPECT_TRUE(moved.passed()) << moved.to_text();
  EXPECT_THAT(moved.to_text(), HasSubstr("note: the inputs were moved at random by up to 0.1"));
}

TEST(VerdictTest, NaNAndInfinityFailWhereverTheyAre) {
  const Tensor x = leaf({2}, {-1.0, 2.0});
  const InputReport value = check_one([](auto in) { return log(in[0]); }, x);
  EXPECT_EQ(value.verdict, Verdict::kFail);
  EXPECT_THAT(value.note, HasSubstr("nan at output [0]"));
  const InputReport infinite = check_one([](auto in) { return log(in[0]); }, leaf({2}, {1.0, 0.0}));
  EXPECT_EQ(infinite.verdict, Verdict::kFail);
  EXPECT_THAT(infinite.note, HasSubstr("-inf at output [1]"));
  // sqrt is finite at 0, and its slope is not.
  const InputReport slope = check_one([](auto in) { return sqrt(in[0]); }, leaf({1}, {0.0}));
  EXPECT_EQ(slope.verdict, Verdict::kFail);
  EXPECT_EQ(slope.worst[0].note, "the gradient is not finite");
}

TEST(VerdictTest, TheKeyBiasOfAttentionIsAZeroAmongTheRoundingOfManyOutputs) {
  constexpr int64_t kWidth = 16;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Initializer init(RandomStream(seed), DType::f64);
    const auto map = [&] { return Projection(Linear(init, kWidth, kWidth, true, 0.25)); };
    MultiHeadAttention attention;
    attention.query = map();
    Linear key(init, kWidth, kWidth, true, 0.25);
    attention.value = map();
    attention.output = map();
    attention.num_heads = 4;
    const Tensor x = init.normal({2, 8, kWidth}, 1.0).detached();
    const auto f = [&](std::span<const Tensor> bias) {
      ForwardContext context;
      key.bias = bias[0];
      attention.key = Projection(key);
      return attention(x, {}, context);
    };
    const Tensor bias = init.normal({kWidth}, 0.25);
    const GradcheckReport report = gradcheck(f, {&bias, 1});
    EXPECT_TRUE(report.passed()) << report.to_text();
  }
}

TEST(VerdictTest, AnInputThatIsIgnoredPassesAndSaysSo) {
  const std::vector<Tensor> inputs = {leaf({2}, {1.0, 2.0}), leaf({2}, {3.0, 4.0})};
  const GradcheckReport report = gradcheck([](auto x) { return exp(x[0]); }, inputs, {.order = 2});
  EXPECT_TRUE(report.passed()) << report.to_text();
  EXPECT_TRUE(report.inputs[1].ignored);
  EXPECT_FALSE(report.inputs[0].ignored);
  EXPECT_THAT(report.inputs[1].to_text(),
              HasSubstr("does not depend on this input: zero gradient"));
}

TEST(VerdictTest, AnInputThatIsDetachedFails) {
  const auto f = [](std::span<const Tensor> x) { return x[0].detached() * x[1]; };
  const std::vector<Tensor> inputs = {leaf({2}, {1.0, 2.0}), leaf({2}, {3.0, 4.0})};
  const GradcheckReport report = gradcheck(f, inputs);
  EXPECT_EQ(report.inputs[0].verdict, Verdict::kFail);
  EXPECT_EQ(report.inputs[1].verdict, Verdict::kPass);
}

TEST(VerdictTest, AnEmptyInputPassesAndSaysSo) {
  const std::vector<Tensor> inputs = {leaf({0, 2}, {}), leaf({2}, {3.0, 4.0})};
  const auto f = [](std::span<const Tensor> x) { return concat({x[0], reshape(x[1], {1, 2})}, 0); };
  const GradcheckReport report = gradcheck(f, inputs, {.order = 2});
  EXPECT_TRUE(report.passed()) << report.to_text();
  EXPECT_THAT(report.inputs[0].to_text(), HasSubstr("empty: there is nothing to check"));
}

TEST(VerdictTest, ABackwardThatIsNotDifferentiableByItsCotangentIsLabelled) {
  const PlantedBackward forgets_dy = [](const Tensor&, const Tensor& dy) {
    return 3.0 * dy.detached();
  };
  const TensorFunction f = [](std::span<const Tensor> in) { return 3.0 * in[0]; };
  const GradcheckReport report = check_planted(f, forgets_dy, leaf({2}, {1.0, 2.0}));
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.to_text(), HasSubstr("dot product: not tested"));
}

TEST(VerdictTest, AComposedBackwardThatDiffersFromTheFusedOneFails) {
  const TensorFunction f = [](std::span<const Tensor> in) { return 3.0 * in[0]; };
  for (const bool fused_is_right : {true, false}) {
    const PlantedBackward dx = [=](const Tensor&, const Tensor& dy) {
      return (may_fuse({dy}) == fused_is_right ? 3.0 : 4.0) * dy;
    };
    const InputReport report = check_planted(f, dx, leaf({2}, {1.0, 2.0})).inputs[0];
    EXPECT_EQ(report.composed.verdict, Verdict::kFail);
    EXPECT_EQ(report.failed, fused_is_right ? 0 : 2);
    EXPECT_EQ(report.verdict, Verdict::kFail);
  }
}

TEST(VerdictTest, AnUnsymmetricHessianFails) {
  // Right at first order; the second forgets that one factor depends on x.
  const PlantedBackward forgets_one = [](const Tensor& x, const Tensor& dy) {
    const Tensor y = softmax(x);
    return y.detached() * (dy - sum(y * dy, -1, true));
  };
  const TensorFunction f = [](std::span<const Tensor> in) { return softmax(in[0]); };
  const GradcheckReport report =
      check_planted(f, forgets_one, leaf({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}), {.order = 2});
  EXPECT_EQ(report.hessian_symmetry.verdict, Verdict::kFail);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.to_text(), HasSubstr("FAIL  symmetry of the Hessian"));
}

TEST(VerdictTest, WorseIsAFailureThenNoDecision) {
  EXPECT_EQ(worse(Verdict::kPass, Verdict::kPass), Verdict::kPass);
  EXPECT_EQ(worse(Verdict::kUndecided, Verdict::kPass), Verdict::kUndecided);
  EXPECT_EQ(worse(Verdict::kUndecided, Verdict::kFail), Verdict::kFail);
  EXPECT_EQ(name_of(Verdict::kUndecided), "UNDECIDED");
}

}  // namespace
}  // namespace qkv
