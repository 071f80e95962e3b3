// What the examples can't show: the corners of single ops.

#include "framework/ops/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/support/elementwise.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor mask(const Shape& shape, const Values& values) {
  return Tensor(Array::of(shape, DType::boolean, values));
}

Tensor indices(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor(Array::of(shape, values));
}

TEST(WhereTest, WhatIsNotChosenLeaksNoNaN) {
  const Tensor a = leaf({2}, {kInfinity, 1.0}), b = leaf({2}, {3.0, kNaN});
  const Tensor y = where(mask({2}, {0, 1}), a, b);
  EXPECT_EQ(y.to_vector(), (Values{3.0, 1.0}));
  const Gradients g = backward(sum(y), {.keep_graph = true});
  EXPECT_EQ(g[a].to_vector(), (Values{0.0, 1.0}));
  EXPECT_EQ(g[b].to_vector(), (Values{1.0, 0.0}));
  const Gradients h = backward(y, {.cotangent = constant({2}, {kNaN, 2.0}, DType::f64)});
  EXPECT_EQ(h[a].to_vector(), (Values{0.0, 2.0}));
}

TEST(MaskedFillTest, WhatIsMaskedLeaksNoNaNIntoTheGradient) {
  const Tensor x = leaf({3}, {kNaN, 2.0, kInfinity});
  const Tensor y = masked_fill(x, mask({3}, {1, 0, 1}), -1.0);
  EXPECT_EQ(y.to_vector(), (Values{-1.0, 2.0, -1.0}));
  const Gradients g = backward(y, {.cotangent = constant({3}, {kNaN, 5.0, 7.0}, DType::f64)});
  EXPECT_EQ(g[x].to_vector(), (Values{0.0, 5.0, 0.0}));
}

TEST(CrossEntropyTest, WhereEveryTargetIsIgnoredItIsZeroWithZeroGradients) {
  for (const double smoothing : {0.0, 0.1}) {
    const Tensor logits = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor loss =
        cross_entropy(logits, indices({2}, {-1, -1}), {.label_smoothing = smoothing});
    EXPECT_EQ(loss.item(), 0.0);
    EXPECT_EQ(backward(loss)[logits].to_vector(), Values(6, 0.0));
  }
}

TEST(MaximumTest, EachGetsHalfOfTheGradientWhereEqual) {
  const Tensor a = leaf({3}, {1, 2, 3}), b = leaf({3}, {1, 5, 0});
  const Gradients g =
      backward(maximum(a, b), {.cotangent = constant({3}, {4.0, 6.0, 8.0}, DType::f64)});
  EXPECT_EQ(g[a].to_vector(), (Values{2, 0, 8}));
  EXPECT_EQ(g[b].to_vector(), (Values{2, 6, 0}));
}

TEST(ReluTest, ItsDerivativeAtZeroIsZeroByBothWays) {
  const Tensor x = leaf({3}, {-1, 0, 2});
  const Tensor y = relu(x);
  for (const bool create_graph : {true, false}) {
    const Tensor cotangent = parameter(Array::full({3}, DType::f64, 3.0));
    const Gradients g =
        backward(y, {.cotangent = cotangent, .create_graph = create_graph, .keep_graph = true});
    EXPECT_EQ(g[x].to_vector(), (Values{0, 0, 3}));
  }
}

// A gradient of 0 for what does not move the result, as in PyTorch: no NaN, and no missing one.
TEST(PowTest, AtZeroItHasTheDerivativesOfTheDefinition) {
  for (const bool create_graph : {false, true}) {
    const Tensor a = leaf({5}, {0, 0, 0, 2, 0}), b = leaf({5}, {0, 3, 0.5, 0, 1});
    const Gradients g = backward(sum(pow(a, b)), {.create_graph = create_graph});
    EXPECT_EQ(g[a].to_vector(), (Values{0, 0, kInfinity, 0, 1}));
    EXPECT_EQ(g[b].to_vector(), (Values{0, 0, 0, std::log(2.0), 0}));
  }
  // d/db (b a^(b - 1)) = a^(b - 1) (1 + b log(a)): at b = 0 it is 1 / a
  const Tensor two = leaf({1}, {2}), zero = leaf({1}, {0});
  const Tensor slope = backward(sum(pow(two, zero)), {.create_graph = true})[two];
  EXPECT_EQ(backward(sum(slope))[zero].item(), 0.5);
  const Tensor negative = leaf({1}, {-2}), exponent = leaf({1}, {2});
  EXPECT_TRUE(std::isnan(backward(sum(pow(negative, exponent)))[exponent].item()));
}

TEST(PowTest, ThePowerZeroHasGradientsOfZero) {
  for (const bool create_graph : {false, true}) {
    const Tensor x = leaf({3}, {-2, 0, kNaN});
    const Tensor y = pow(x, 0.0);
    EXPECT_EQ(y.to_vector(), (Values{1, 1, 1}));
    EXPECT_EQ(backward(sum(y), {.create_graph = create_graph})[x].to_vector(), (Values{0, 0, 0}));
  }
}

TEST(PowTest, ANegativeBaseHasAGradientWhereNobodyAsksForTheExponents) {
  const Tensor a = leaf({1}, {-3});
  const Tensor y = pow(a, constant({1}, {2.0}, DType::f64));
  EXPECT_EQ(backward(sum(y))[a].to_vector(), (Values{-6}));
}

TEST(ReshapeTest, SharesStorageAndPermuteCopies) {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(reshape(x, {3, 2}).array().raw(), x.array().raw());
  const Tensor turned = transpose(x, 0, 1);
  EXPECT_NE(turned.array().raw(), x.array().raw());
  EXPECT_EQ(turned.to_vector(), (Values{1, 4, 2, 5, 3, 6}));
}

TEST(SplitTest, GivesEqualPiecesInOrder) {
  const std::vector<Tensor> pieces = split(leaf({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), 1, 2);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].to_vector(), (Values{1, 2, 5, 6}));
  EXPECT_EQ(pieces[1].to_vector(), (Values{3, 4, 7, 8}));
}

TEST(ConcatTest, WorksForIndicesAndMasks) {
  EXPECT_EQ(concat({indices({2}, {1, 2}), indices({1}, {3})}, 0).to_vector(), (Values{1, 2, 3}));
  EXPECT_EQ(stack({mask({2}, {1, 0}), mask({2}, {0, 0})}, 1).to_vector(), (Values{1, 0, 0, 0}));
}

TEST(CrossEntropyTest, RowsOfNothingAndRowsOfMinusInfinityAreThoseOfTheComposedForm) {
  const Tensor none = full({3}, -1, DType::i64);
  const auto loss_of_no_classes = [&] { return cross_entropy(leaf({3, 0}, {}), none).item(); };
  const Tensor hidden = leaf({1, 2}, {-kInfinity, -kInfinity});
  const auto loss_of_hidden = [&] { return cross_entropy(hidden, indices({1}, {0})).item(); };
  EXPECT_EQ(loss_of_no_classes(), 0.0);
  EXPECT_EQ(loss_of_hidden(), kInfinity);
  const ComposedOnly composed_only;
  EXPECT_EQ(loss_of_no_classes(), 0.0);
  EXPECT_EQ(loss_of_hidden(), kInfinity);
}

TEST(CastTest, RoundsToBf16AndPassesTheGradientBack) {
  const Tensor x = parameter(Array::of({2}, DType::f32, Values{1.0, 1.00390625}));  // 1 + 2^-8
  const Tensor y = cast(x, DType::bf16);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.to_vector(), (Values{1.0, 1.0}));  // ties to even
  const Gradients g = backward(y, {.cotangent = constant({2}, {0.5, 2.0}, DType::bf16)});
  EXPECT_EQ(g[x].dtype(), DType::f32);
  EXPECT_EQ(g[x].to_vector(), (Values{0.5, 2.0}));
}

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

TEST(AxisTest, ANegativeOneCountsFromTheEnd) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(stack({x, x}, -1).shape(), (Shape{2, 3, 4, 2}));
  EXPECT_EQ(stack({x, x}, -2).shape(), (Shape{2, 3, 2, 4}));
  EXPECT_EQ(concat({x, x}, -3).shape(), (Shape{4, 3, 4}));
  EXPECT_EQ(split(x, -1, 2).back().shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(slice(x, -2, 1, 2).shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(pad(x, -1, 1, 6).shape(), (Shape{2, 3, 6}));
  EXPECT_EQ(sum(x, -2, true).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(transpose(x, -1, 0).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(permute(x, {-1, 0, 1}).shape(), (Shape{4, 2, 3}));
}

}  // namespace
}  // namespace qkv
