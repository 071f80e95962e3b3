// The bounds against what is derived by hand.

#include "apps/check/precision/rounding_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "apps/check/precision/precision_check.h"
#include "framework/graph/node.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr double kU = 0x1p-24;  // f32

Tensor numbers(std::initializer_list<double> values, DType dtype = DType::f32) {
  return constant({static_cast<int64_t>(values.size())}, values, dtype);
}

// The bound of one element of f's value, in units of u; `cotangent` has that many elements.
double bound_in_u(const TensorFunction& f, const std::vector<Tensor>& inputs, double u = kU,
                  int64_t element = 0, size_t result = 0) {
  const Tensor y = f(inputs);
  const RoundedRun run(f, inputs, ones(y.shape(), y.dtype()));
  return run.bound(result, element).bound / u;
}

TEST(RoundingBoundTest, OneRoundingIsHalfAnUlpAtMost) {
  const auto product = [](std::span<const Tensor> x) { return x[0] * x[1]; };
  EXPECT_NEAR(bound_in_u(product, {numbers({3.0}), numbers({5.0})}), 15.0, 1e-5);
  // The gradient of the first is 1 * 5.
  EXPECT_NEAR(bound_in_u(product, {numbers({3.0}), numbers({5.0})}, kU, 0, 1), 5.0, 1e-5);
}

TEST(RoundingBoundTest, ErrorsTravelWithTheDerivatives) {
  // z = a b is off by |z| u, and y = z c + d by |c| |z| u + |z c| u + |y| u.
  const auto f = [](std::span<const Tensor> x) { return x[0] * x[1] * x[2] + x[3]; };
  EXPECT_NEAR(bound_in_u(f, {numbers({3.0}), numbers({5.0}), numbers({-2.0}), numbers({29.0})}),
              30.0 + 30.0 + 1.0, 1e-4);
}

TEST(RoundingBoundTest, ASumOfNTermsHasNMinusOneRoundings) {
  const auto f = [](std::span<const Tensor> x) { return sum(x[0]); };
  EXPECT_NEAR(bound_in_u(f, {numbers({1.0, -2.0, 3.0, -4.0})}), 3 * 10.0, 1e-4);
  const auto product = [](std::span<const Tensor> x) { return matmul(x[0], x[1]); };
  const Tensor row = constant({1, 3}, {1.0, -2.0, 3.0}), column = constant({3, 1}, {4.0, 5.0, 2.0});
  EXPECT_NEAR(bound_in_u(product, {row, column}), 3 * (4.0 + 10.0 + 6.0), 1e-3);
}

TEST(RoundingBoundTest, TheTermsInUSquareAreThoseOfGamma) {
  // Rounded eight times: y (1 + delta)^8.
  const auto f = [](std::span<const Tensor> x) {
    Tensor y = x[0];
    for (int i = 0; i < 8; ++i) y = cast(cast(y, DType::bf16), DType::f32);
    return y;
  };
  const double u = 0x1p-8;
  EXPECT_NEAR(bound_in_u(f, {numbers({1.0})}, u), 8 / (1 - 8 * u), 1e-9);
}

TEST(RoundingBoundTest, WhatIsRoundedToBf16IsNotRoundedInTheExactRun) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return linear(cast(x[0], DType::bf16), x[1], Tensor(), {.bf16_result = true});
  };
  const std::vector<Tensor> inputs = {constant({1, 1}, {1.01}), constant({1, 1}, {1.03})};
  const RoundedRun run(f, inputs, constant({1, 1}, {1.0}, DType::bf16));
  const double x = inputs[0].item(), w = inputs[1].item();  // in f32
  EXPECT_EQ(run.exact()[0].item(), x * w);
  EXPECT_EQ(run.narrowest_roundoff(), 0x1p-8);
  // x, the weight and the result are rounded, of which two follow each other.
  const double u = 0x1p-8;
  EXPECT_NEAR(run.bound(0, 0).bound, x * w * 3 * u / (1 - 2 * u), 1e-6);
}

TEST(RoundingBoundTest, MovesAreExact) {
  const auto f = [](std::span<const Tensor> x) {
    return concat({transpose(reshape(x[0], {2, 2}), 0, 1), slice(reshape(x[0], {2, 2}), 0, 1, 1)},
                  0);
  };
  EXPECT_EQ(bound_in_u(f, {numbers({1.0, 2.0, 3.0, 4.0})}), 0.0);
}

class Unheard final : public Op {
 public:
  std::string_view name() const override { return "unheard_of"; }
  Array forward(const Inputs& x) override { return x[0]; }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy}; }
};

TEST(RoundingBoundTest, AnOpWithoutARuleIsAnError) {
  const TensorFunction f = [](std::span<const Tensor> x) { return apply<Unheard>({x[0]}); };
  EXPECT_EQ(
      error_of([&] { RoundedRun(f, std::vector{numbers({1.0})}, numbers({1.0})); }),
      "gradcheck: no rule says how the op unheard_of rounds: give it a rounding(), in the file "
      "of the op");
}

// An op of one's own that says how it rounds: three times.
class Rounds final : public Op {
 public:
  std::string_view name() const override { return "rounds"; }
  Array forward(const Inputs& x) override { return x[0]; }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy}; }
  Rounding rounding(const ExactCall& call) override { return rounded(call, 3.0); }
};

TEST(RoundingBoundTest, AnOpOfOnesOwnMaySayHowItRounds) {
  const TensorFunction f = [](std::span<const Tensor> x) { return apply<Rounds>({x[0]}); };
  EXPECT_NEAR(bound_in_u(f, {numbers({5.0})}), 15.0, 1e-5);
}

TEST(RoundingBoundTest, AFormulaIsKnownOfEveryOp) {
  const std::map<std::string, std::string> formulas = rounding_formulas();
  EXPECT_GT(formulas.size(), 40U);
  EXPECT_EQ(formulas.at("mul"), "|y|");
  EXPECT_EQ(formulas.at("exp"), "5.03 |y|");
  EXPECT_EQ(formulas.at("matmul"), "n |A| |B|");
  EXPECT_EQ(formulas.at("attention_output"), "|y|");
  EXPECT_EQ(formulas.at("embedding_backward"), "(n - 1) sum(|x|)");  // in a backward alone
}

}  // namespace
}  // namespace qkv
