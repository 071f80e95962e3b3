// Products in bf16: what is rounded, and what is not.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/random.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/bf16.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

Tensor normal_f32(const Shape& shape, uint64_t seed) {
  Array array(shape, DType::f32);
  kernels::fill_normal(RandomStream(seed), 0.0, 1.0, array);
  return parameter(array);
}

// As a leaf of its own.
Tensor in_bf16(const Tensor& x) { return parameter(cast(x.detached(), DType::bf16).array()); }

Tensor as_f64(const Tensor& x) { return cast(x.detached(), DType::f64); }
Tensor rounded(const Tensor& x) { return as_f64(cast(x.detached(), DType::bf16)); }
Tensor magnitude(const Tensor& x) { return sqrt(x * x); }

// actual is a b [+ c], in f64: the products of bf16 numbers are exact, a sum of n terms is off by
// at most n 2^-24 of the sum of their magnitudes, and rounding it to bf16 by 2^-8 of itself.
void expect_product(const Tensor& actual, const Tensor& a, const Tensor& b, const Tensor& c,
                    MatmulOptions options) {
  Tensor exact = matmul(a, b, options);
  Tensor magnitudes = matmul(magnitude(a), magnitude(b), options);
  if (c.defined()) {
    exact = exact + c;
    magnitudes = magnitudes + magnitude(c);
  }
  const double terms = static_cast<double>(a.dim(options.transpose_a ? 0 : 1) + 1);
  const double rounding = actual.dtype() == DType::bf16 ? 0x1p-8 : 0.0;
  const auto expected = exact.to_vector(), got = actual.to_vector(), sums = magnitudes.to_vector();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], terms * 0x1p-24 * sums[i] + rounding * std::abs(expected[i]))
        << i;
  }
}

TEST(LinearTest, Bf16ProductsAreThoseOfTheRoundedWeight) {
  for (const bool bf16_result : {false, true}) {
    for (const Shape& sizes : {Shape{1, 1, 1}, Shape{37, 19, 23}, Shape{300, 64, 130}}) {
      SCOPED_TRACE(sizes.to_string());
      const int64_t rows = sizes[0], k = sizes[1], n = sizes[2];
      const DType result = bf16_result ? DType::bf16 : DType::f32;
      const Tensor x = in_bf16(normal_f32({rows, k}, 1));
      const Tensor weight = normal_f32({n, k}, 2), bias = normal_f32({n}, 3);
      const Tensor y = linear(x, weight, bias, {.bf16_result = bf16_result});
      EXPECT_EQ(y.dtype(), result);
      expect_product(y, as_f64(x), rounded(weight), as_f64(bias), {.transpose_b = true});

      const Tensor dy = cast(normal_f32({rows, n}, 4).detached(), result);
      const Gradients g = backward(y, {.cotangent = dy});
      EXPECT_EQ(g[x].dtype(), DType::bf16);
      EXPECT_EQ(g[weight].dtype(), DType::f32);
      EXPECT_EQ(g[bias].dtype(), DType::f32);
      expect_product(g[x], rounded(dy), rounded(weight), Tensor(), {});
      expect_product(g[weight], rounded(dy), as_f64(x), Tensor(), {.transpose_a = true});
      expect_product(reshape(g[bias], {1, n}), full({1, rows}, 1.0, DType::f64), as_f64(dy),
                     Tensor(), {});  // not a product: not rounded
    }
  }
}

TEST(LinearTest, ProductsOfOneOperandShareItsRoundedCopyAsLongAsItIsTheSame) {
  const Tensor x = normal_f32({2, 3}, 1);
  const Tensor once = rounded_operand(x);
  EXPECT_EQ(rounded_operand(x).array().raw(), once.array().raw());
  EXPECT_NE(rounded_operand(reshape(x, {3, 2})).array().raw(), once.array().raw());
  // The same memory, and a place of its own in the graph.
  const Tensor same_shape = reshape(reshape(x, {3, 2}), {2, 3});
  const Tensor again = rounded_operand(x);
  EXPECT_NE(rounded_operand(same_shape).array().raw(), again.array().raw());
  const Tensor before = rounded_operand(x);
  Array numbers = x.array();
  numbers.mutable_data<float>()[0] = 7;
  EXPECT_EQ(rounded_operand(x).to_vector()[0], 7);
}

TEST(LinearTest, AVectorInBf16) {
  const Tensor x = in_bf16(normal_f32({4}, 1)), weight = normal_f32({3, 4}, 2),
               bias = normal_f32({3}, 3);
  const Tensor y = linear(x, weight, bias, {.bf16_result = true});
  const Gradients g = backward(y, {.cotangent = in_bf16(normal_f32({3}, 4)).detached()});
  EXPECT_EQ(y.describe(), "bf16[3]");
  EXPECT_EQ(g[x].describe(), "bf16[4]");
  EXPECT_EQ(g[weight].describe(), "f32[3, 4]");
  EXPECT_EQ(g[bias].describe(), "f32[3]");
}

TEST(LinearTest, Bf16ProductsHaveAComposedTwinAndSecondDerivatives) {
  for (const bool bf16_result : {false, true}) {
    const Tensor x = in_bf16(normal_f32({3, 3, 6}, 1)), weight = normal_f32({5, 6}, 2);
    const Tensor bias = normal_f32({5}, 3), ddx = in_bf16(normal_f32({3, 3, 6}, 5)).detached();
    const Tensor dy =
        cast(normal_f32({3, 3, 5}, 4).detached(), bf16_result ? DType::bf16 : DType::f32);
    const auto gradients = [&] {
      const Tensor y = linear(x, weight, bias, {.bf16_result = bf16_result});
      const Gradients first = backward(y, {.cotangent = dy, .create_graph = true});
      const Gradients second = backward(first[x], {.cotangent = ddx});
      return std::vector<Tensor>{y, first[x], first[weight], first[bias], second[weight]};
    };
    const std::vector<Tensor> fused = gradients();
    std::vector<Tensor> composed;
    {
      const ComposedOnly composed_only;
      composed = gradients();
    }
    for (size_t i = 0; i < fused.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(fused[i].dtype(), composed[i].dtype());
      expect_close(as_f64(fused[i]), as_f64(composed[i]), tolerance_of(DType::bf16));
    }
    // d(dx)/dW = dyᵀ ddx
    const auto as_rows = [](const Tensor& t) { return reshape(as_f64(t), {9, t.dim(-1)}); };
    expect_close(as_f64(fused.back()), matmul(as_rows(dy), as_rows(ddx), {.transpose_a = true}),
                 {.relative = 2e-2, .absolute = 5e-2});
  }
}

TEST(LinearTest, ARoundedWeightIsKeptUntilItChanges) {
  const LinearOptions keeps = {.rounded_weight = std::make_shared<RoundedWeight>()};
  const Tensor x = in_bf16(normal_f32({3, 6}, 1)), weight = normal_f32({5, 6}, 2),
               other = normal_f32({5, 6}, 3);
  const auto expect_same = [&](const Tensor& w) {
    EXPECT_EQ(bits(linear(x, w, Tensor(), keeps)), bits(linear(x, w, Tensor())));
  };
  expect_same(weight);
  expect_same(other);
  Array numbers = other.array();
  numbers.mutable_data<float>()[0] = 17.0f;
  expect_same(other);

  const Array once = keeps.rounded_weight->of(other.array());
  EXPECT_EQ(once.raw(), keeps.rounded_weight->of(other.array()).raw());
}

// Ops on bf16 tensors: what linear layers hand to each other in bf16.

Tensor f64(const Tensor& x) { return cast(x.detached(), DType::f64); }
Tensor normal(const Shape& shape, uint64_t seed) {  // numbers of bf16, in f64
  return f64(cast(normal_like(zeros(shape, DType::f64), seed), DType::bf16));
}

struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Tensor(std::span<const Tensor>)> f;
};

std::vector<Case> cases() {
  const Shape matrix{5, 7}, heads{2, 6, 3, 4};
  return {
      {"relu", {matrix}, [](auto x) { return relu(x[0]); }},
      {"gelu", {matrix}, [](auto x) { return gelu(x[0]); }},
      {"gelu_tanh", {matrix}, [](auto x) { return gelu(x[0], GeluForm::kTanh); }},
      {"silu", {matrix}, [](auto x) { return silu(x[0]); }},
      {"add", {matrix, matrix}, [](auto x) { return x[0] + x[1]; }},
      {"sum_to", {matrix}, [](auto x) { return sum_to(x[0], {7}); }},
      {"sum_to of one term", {Shape{7}}, [](auto x) { return sum_to(x[0], {7}); }},
      {"used twice", {matrix}, [](auto x) { return gelu(x[0]) + relu(x[0]); }},
      {"attention",
       {heads, heads, heads},
       [](auto x) {
         return attention(x[0], x[1], x[2], {.mask = {.causal = true}, .scale = 0.5});
       }},
  };
}

// The value, the gradient of each input, and the gradients of <gradients, v>.
std::vector<Tensor> derivatives(const Case& c, DType dtype) {
  std::vector<Tensor> x;
  for (const Shape& shape : c.inputs) {
    x.push_back(parameter(cast(normal(shape, x.size()), dtype).array()));
  }
  const Tensor y = c.f(x);
  std::vector<Tensor> result = {y};
  const Gradients first =
      backward(y, {.cotangent = cast(normal(y.shape(), 10), y.dtype()), .create_graph = true});
  for (const Tensor& input : x) result.push_back(first[input]);
  if (!first[x[0]].requires_grad()) return result;  // linear
  const Gradients second =
      backward(first[x[0]], {.cotangent = cast(normal(x[0].shape(), 11), dtype)});
  for (const Tensor& input : x) {
    if (second.contains(input)) result.push_back(second[input]);
  }
  return result;
}

void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(f64(actual[i]), f64(expected[i]), tolerance_of(DType::bf16));
  }
}

TEST(Bf16OpsTest, AgreeWithF64ToTheSecondDerivative) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Tensor> expected = derivatives(c, DType::f64);
    const std::vector<Tensor> fused = derivatives(c, DType::bf16);
    EXPECT_EQ(fused[0].dtype(), c.name.starts_with("sum_to") ? DType::f32 : DType::bf16);
    EXPECT_EQ(fused[1].dtype(), DType::bf16);
    expect_close(fused, expected);
    const ComposedOnly composed_only;
    const std::vector<Tensor> composed = derivatives(c, DType::bf16);
    EXPECT_EQ(composed[0].dtype(), fused[0].dtype());
    expect_close(composed, expected);
  }
}

TEST(Bf16OpsTest, OtherArithmeticWantsF32) {
  const Tensor x = zeros({2, 3}, DType::bf16);
  expect_error("mul: needs f32 or f64: a bf16[2, 3], b bf16[2, 3]", [&] { x* x; });
  expect_error("add: bf16 does not broadcast; cast it to f32 first: a bf16[2, 3], b bf16[3]",
               [&] { x + zeros({3}, DType::bf16); });
  expect_error("softmax: needs f32 or f64: x bf16[2, 3]", [&] { softmax(x); });
}

}  // namespace
}  // namespace qkv
