// Products in bf16: what is rounded, and what is not.

#include <gtest/gtest.h>

#include <memory>

#include "framework/autograd/backward.h"
#include "framework/autograd/tolerance.h"
#include "framework/core/random.h"
#include "framework/graph/op.h"
#include "framework/kernels/random.h"
#include "framework/ops/ops.h"
#include "framework/ops/rounded_weight.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

const LinearOptions kBf16 = {.bf16_products = true};

Tensor normal(const Shape& shape, uint64_t seed) {
  Array array(shape, DType::f32);
  kernels::fill_normal(RandomStream(seed), 0.0, 1.0, array);
  return parameter(array);
}

Tensor f64(const Tensor& x) { return cast(x.detached(), DType::f64); }
Tensor rounded(const Tensor& x) { return f64(cast(x.detached(), DType::bf16)); }
Tensor magnitude(const Tensor& x) { return sqrt(x * x); }

// actual, in f32, is a b [+ c], in f64: the products of bf16 numbers are exact, and a sum of n
// terms is off by at most n 2^-24 of the sum of their magnitudes.
void expect_product(const Tensor& actual, const Tensor& a, const Tensor& b, const Tensor& c,
                    MatmulOptions options) {
  Tensor exact = matmul(a, b, options);
  Tensor magnitudes = matmul(magnitude(a), magnitude(b), options);
  if (c.defined()) {
    exact = exact + c;
    magnitudes = magnitudes + magnitude(c);
  }
  const int64_t terms = a.dim(options.transpose_a ? 0 : 1) + 1;
  const auto expected = exact.to_vector(), got = actual.to_vector(), sums = magnitudes.to_vector();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], static_cast<double>(terms) * 0x1p-24 * sums[i]) << i;
  }
}

TEST(LinearTest, Bf16ProductsAreThoseOfTheRoundedOperands) {
  for (const Shape& sizes : {Shape{1, 1, 1}, Shape{37, 19, 23}, Shape{300, 64, 130}}) {
    SCOPED_TRACE(sizes.to_string());
    const int64_t rows = sizes[0], k = sizes[1], n = sizes[2];
    const Tensor x = normal({rows, k}, 1), weight = normal({n, k}, 2), bias = normal({n}, 3);
    const Tensor y = linear(x, weight, bias, kBf16);
    EXPECT_EQ(y.dtype(), DType::f32);
    expect_product(y, rounded(x), rounded(weight), f64(bias), {.transpose_b = true});

    const Tensor dy = normal({rows, n}, 4);
    const Gradients g = backward(y, {.cotangent = dy});
    expect_product(g[x], rounded(dy), rounded(weight), Tensor(), {});
    expect_product(g[weight], rounded(dy), rounded(x), Tensor(), {.transpose_a = true});
    expect_product(reshape(g[bias], {1, n}), full({1, rows}, 1.0, DType::f64), f64(dy), Tensor(),
                   {});  // not a product: not rounded
  }
}

TEST(LinearTest, Bf16ProductsHaveAComposedTwinAndSecondDerivatives) {
  const Tensor x = normal({9, 6}, 1), weight = normal({5, 6}, 2), bias = normal({5}, 3);
  const Tensor dy = normal({9, 5}, 4), ddx = normal({9, 6}, 5);
  const auto gradients = [&] {
    const Tensor y = linear(x, weight, bias, kBf16);
    const Gradients first = backward(y, {.cotangent = dy, .create_graph = true});
    const Gradients second = backward(first[x], {.cotangent = ddx});
    return std::vector<Tensor>{y, first[x], first[weight], first[bias], second[weight]};
  };
  const std::vector<Tensor> fused = gradients();
  const ComposedOnly composed_only;
  const std::vector<Tensor> composed = gradients();
  for (size_t i = 0; i < fused.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(fused[i], composed[i], tolerance_of(DType::bf16));
  }
  // d(dx)/dW = dyᵀ ddx
  expect_close(cast(fused.back(), DType::f64), matmul(f64(dy), f64(ddx), {.transpose_a = true}),
               {.relative = 2e-2, .absolute = 5e-2});
}

TEST(LinearTest, ARoundedWeightIsKeptUntilItChanges) {
  const LinearOptions keeps = {.bf16_products = true,
                               .rounded_weight = std::make_shared<RoundedWeight>()};
  const Tensor x = normal({3, 6}, 1), weight = normal({5, 6}, 2), other = normal({5, 6}, 3);
  const auto expect_same = [&](const Tensor& w) {
    EXPECT_EQ(bits(linear(x, w, Tensor(), keeps)), bits(linear(x, w, Tensor(), kBf16)));
  };
  expect_same(weight);
  expect_same(other);
  Array numbers = other.array();
  numbers.mutable_data<float>()[0] = 17.0f;
  numbers.storage().count_write();
  expect_same(other);

  const Array once = keeps.rounded_weight->of(other.array());
  EXPECT_EQ(once.raw(), keeps.rounded_weight->of(other.array()).raw());
}

}  // namespace
}  // namespace qkv
