// What the examples can't show: the corners of single ops.

#include "framework/ops/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
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

TEST(SoftmaxTest, ARowThatIsMaskedWholeGivesZerosAndZeroGradients) {
  const Tensor x = leaf({2, 2}, {1.0, 2.0, 3.0, 4.0});
  const Tensor y = softmax(masked_fill(x, mask({2, 2}, {0, 0, 1, 1}), -kInfinity));
  EXPECT_EQ(y.to_vector()[2], 0.0);
  EXPECT_EQ(y.to_vector()[3], 0.0);
  const Tensor cotangent = constant({2, 2}, {1.0, -2.0, 3.0, 4.0}, DType::f64);
  for (const bool create_graph : {false, true}) {
    const Gradients g =
        backward(y, {.cotangent = cotangent, .create_graph = create_graph, .keep_graph = true});
    EXPECT_NE(g[x].to_vector()[0], 0.0);
    EXPECT_EQ(g[x].to_vector()[2], 0.0);
    EXPECT_EQ(g[x].to_vector()[3], 0.0);
  }
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

TEST(CrossEntropyTest, PiecesDividedByTheCountOfTheWholeAddUpToTheWhole) {
  const Tensor logits = leaf({4, 2}, {1, 2, -1, 0.5, 3, 1, 0, 0});
  const Tensor targets = indices({4}, {0, -1, 1, 1});
  const double whole = cross_entropy(logits, targets).item();
  double sum_of_pieces = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const Tensor piece = indices({1}, {std::vector<int64_t>{0, -1, 1, 1}[static_cast<size_t>(i)]});
    sum_of_pieces += cross_entropy(slice(logits, 0, i, 1), piece, {.divisor = 3.0}).item();
  }
  EXPECT_NEAR(sum_of_pieces, whole, 1e-15);
}

TEST(MaxTest, TheFirstOfEqualsGetsTheGradient) {
  const Tensor x = leaf({2, 3}, {1, 7, 7, 5, 2, 5});
  const Tensor y = max(x, 1);
  EXPECT_EQ(y.to_vector(), (Values{7, 5}));
  const Gradients g = backward(y, {.cotangent = constant({2}, {2.0, 3.0}, DType::f64)});
  EXPECT_EQ(g[x].to_vector(), (Values{0, 2, 0, 3, 0, 0}));
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

TEST(PowTest, ANumberIsAPowerOfNegativesToo) {
  const Tensor x = leaf({2}, {-2, 0});
  EXPECT_EQ(pow(x, 3.0).to_vector(), (Values{-8, 0}));
  EXPECT_EQ(backward(sum(pow(x, 2.0)))[x].to_vector(), (Values{-4, 0}));
  EXPECT_EQ(pow(x, 0.0).to_vector(), (Values{1, 1}));
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

TEST(IeeeTest, DerivativesAtZeroAreInfinite) {
  const Tensor x = leaf({1}, {0.0});
  EXPECT_EQ(backward(sum(sqrt(x)))[x].item(), kInfinity);
  EXPECT_EQ(log(x).item(), -kInfinity);
  EXPECT_EQ(backward(sum(log(x)))[x].item(), kInfinity);
  EXPECT_EQ(rsqrt(x).item(), kInfinity);
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

TEST(MatmulTest, Bf16OperandsGiveAnF32ProductAndBf16Gradients) {
  const Tensor a64 = parameter(normal_like(zeros({2, 3, 16}, DType::f64), 1).array());
  const Tensor b64 = parameter(normal_like(zeros({5, 16}, DType::f64), 2).array());
  const auto narrow = [](const Tensor& x) {
    return parameter(cast(x.detached(), DType::bf16).array());
  };
  const Tensor a = narrow(a64), b = narrow(b64);
  const Tensor c = matmul(a, b, {.transpose_b = true});
  const Tensor c64 = matmul(a64, b64, {.transpose_b = true});
  EXPECT_EQ(c.dtype(), DType::f32);
  const Tolerance tolerance = {2 * tolerance_of(DType::bf16).relative, 0.05};
  expect_close(c, c64, tolerance);
  const Tensor dc = normal_like(c64, 3);
  const Gradients g = backward(c, {.cotangent = cast(dc, DType::f32)});
  const Gradients g64 = backward(c64, {.cotangent = dc});
  EXPECT_EQ(g[a].dtype(), DType::bf16);
  EXPECT_EQ(g[b].dtype(), DType::bf16);
  expect_close(g[a], g64[a64], tolerance);
  expect_close(g[b], g64[b64], tolerance);
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

TEST(CastTest, FromMasksAndIndicesIsAConstant) {
  EXPECT_EQ(cast(mask({2}, {1, 0}), DType::f32).to_vector(), (Values{1, 0}));
  EXPECT_EQ(cast(indices({2}, {3, -4}), DType::f64).to_vector(), (Values{3, -4}));
  EXPECT_EQ(cast(mask({2}, {1, 0}), DType::i64).dtype(), DType::i64);
}

}  // namespace
}  // namespace qkv
