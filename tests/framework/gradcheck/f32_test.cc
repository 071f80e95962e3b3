// Functions of f32 numbers are checked as they are: what is right does not fail, what is wrong
// fails, and does not pass where rounding hides it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

Tensor f32_of(const std::vector<double>& numbers) {
  return constant({std::ssize(numbers)}, numbers, DType::f32);
}

// f with its first number of f32 behind a mistake in the gradient.
TensorFunction with_mistake(const TensorFunction& f, const PlantedBackward& dx) {
  return [=](std::span<const Tensor> given) {
    std::vector<Tensor> x(given.begin(), given.end());
    const auto first = std::ranges::find_if(x, [](auto& t) { return is_floating(t.dtype()); });
    *first = spoilt(*first, dx);
    return f(x);
  };
}

// The numbers of dy, of which the first is 1 % larger.
Tensor first_wrong(const Tensor&, const Tensor& dy) {
  std::vector<double> factors(static_cast<size_t>(dy.size()), 1.0);
  factors[0] = 1.01;
  return dy * constant(dy.shape(), factors, dy.dtype());
}

// Whether the first number moves the value.
bool has_gradient(const TensorFunction& f, std::span<const Tensor> x) {
  const Tensor y = f(x);
  const Gradients gradients = backward(y, {.cotangent = random_like(y, RandomStream(1))});
  const auto first = std::ranges::find_if(x, [](auto& t) { return is_floating(t.dtype()); });
  return gradients.contains(*first) && std::abs(gradients[*first].to_vector()[0]) > 1e-6;
}

GradcheckReport check(const TensorFunction& f, std::span<const Tensor> inputs, uint64_t seed) {
  return gradcheck(f, inputs, {.seed = seed});
}

TEST(GradcheckF32Test, EveryOpAndMistakesInIt) {
  const PlantedBackward mistakes[] = {[](const Tensor&, const Tensor& dy) { return 1.01 * dy; },
                                      [](const Tensor&, const Tensor& dy) { return -1.0 * dy; },
                                      [](const Tensor&, const Tensor& dy) { return 0.0 * dy; },
                                      first_wrong};
  int right = 0, passed = 0, wrong = 0, failed = 0;
  for (uint64_t seed = 1; seed <= false_alarm_seeds(1); ++seed) {
    for (const OpExamples& function : op_examples()) {
      for (const OpExample& example : function.examples) {
        const std::string name = absl::StrCat(function.op, ", ", example.name, ", seed ", seed);
        const auto inputs = make_inputs(example, DType::f32, RandomStream(seed));
        const GradcheckReport report = check(example.f, inputs, seed);
        EXPECT_EQ(report.computed_in, "f32");
        EXPECT_NE(report.verdict(), Verdict::kFail) << name << "\n" << report.to_text();
        ++right, passed += report.passed() ? 1 : 0;
        const PlantedBackward& mistake = mistakes[static_cast<size_t>(right) % 4];
        const TensorFunction planted = with_mistake(example.f, mistake);
        if (!has_gradient(example.f, inputs)) continue;
        const GradcheckReport of_wrong = check(planted, inputs, seed);
        EXPECT_FALSE(of_wrong.passed()) << name << "\n" << of_wrong.to_text();
        ++wrong, failed += of_wrong.verdict() == Verdict::kFail ? 1 : 0;
      }
    }
  }
  EXPECT_GT(passed, right * 8 / 10);
  EXPECT_GT(failed, wrong * 9 / 10);
}

// A kernel of one's own, which refuses everything but f32: softmax of rows, times a factor.
class OwnSoftmax final : public Op {
 public:
  OwnSoftmax(double factor, bool has_dot) : factor_(factor), has_dot_(has_dot) {}
  std::string_view name() const override { return "own_softmax"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    x[0].data<float>();  // throws unless it is f32
    return softmax(Tensor(x[0])).array();
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const NoGrad no_grad;
    dy.array().data<float>();
    const Tensor y = saved.output();
    return {scale(y * (has_dot_ ? dy - sum(y * dy, -1, true) : dy), factor_)};
  }

 private:
  double factor_;
  bool has_dot_;
};

TEST(GradcheckF32Test, AKernelThatTakesOnlyF32) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed);
    const Tensor x = random_normal({3, 4}, random);
    const auto check_with = [&](double factor, bool has_dot) {
      return gradcheck([=](auto in) { return apply<OwnSoftmax>({in[0]}, factor, has_dot); },
                       {&x, 1}, {.seed = seed, .names = {"x"}});
    };
    const GradcheckReport right = check_with(1.0, true);
    EXPECT_TRUE(right.passed()) << right.to_text();
    EXPECT_THAT(right.to_text(), HasSubstr("PASS  order 1  x f32[3, 4]: 144 derivatives"));
    EXPECT_THAT(right.to_text(), HasSubstr("note: checked in f32"));
    for (const auto& [factor, has_dot] :
         {std::pair{2.0, true}, {1.0, false}, {-1.0, true}, {1.01, true}}) {
      const GradcheckReport wrong = check_with(factor, has_dot);
      EXPECT_EQ(wrong.verdict(), Verdict::kFail) << factor << "\n" << wrong.to_text();
    }
  }
}

// Zeros pass where nothing moves, however far the numbers go.
TEST(GradcheckF32Test, Zeros) {
  const Tensor x = f32_of({0.5, 0.0, -2.0, 1.0});
  const auto verdict_of = [&](const TensorFunction& f) { return check(f, {&x, 1}, 1).verdict(); };
  EXPECT_EQ(verdict_of([](auto in) { return 0.0 * in[0] + 3.0; }), Verdict::kPass);
  EXPECT_EQ(verdict_of([](auto in) { return slice(in[0], 0, 0, 2) * 1e3; }), Verdict::kPass);
  EXPECT_EQ(verdict_of([](auto in) { return in[0].detached() * 1e-9 + 1.0; }), Verdict::kUndecided);
}

}  // namespace
}  // namespace qkv
