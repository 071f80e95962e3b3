#include "framework/autograd/hessian.h"

#include <gtest/gtest.h>

#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

const Tolerance kExact = {.relative = 1e-12, .absolute = 1e-12};

TEST(HessianVectorProductTest, HoldsTheBlocksBetweenInputs) {
  // f = sum(x² y): H = [[2 y, 2 x], [2 x, 0]]
  const auto f = [](std::span<const Tensor> in) { return sum(in[0] * in[0] * in[1]); };
  const std::vector<Tensor> inputs = {leaf({2}, {3.0, -1.0}), leaf({2}, {0.5, 2.0})};
  const std::vector<Tensor> v = {leaf({2}, {1.0, 2.0}), leaf({2}, {-1.0, 4.0})};
  const std::vector<Tensor> both = hessian_vector_product(f, inputs, v);
  expect_close(both[0], leaf({2}, {1.0 - 6.0, 8.0 - 8.0}), kExact);
  expect_close(both[1], leaf({2}, {6.0, -4.0}), kExact);
  const std::vector<Tensor> second = hessian_vector_product(f, inputs, {{Tensor(), v[1]}});
  expect_close(second[0], leaf({2}, {-6.0, -8.0}), kExact);
  expect_close(second[1], leaf({2}, {0.0, 0.0}), kExact);
}

TEST(HessianVectorProductTest, IsZeroOfLinearFunctionsAndOfInputsThatAreIgnored) {
  const std::vector<Tensor> inputs = {leaf({2}, {3.0, -1.0}), leaf({2}, {0.5, 2.0})};
  const auto linear = [](std::span<const Tensor> in) { return sum(2.0 * in[0]); };
  for (const Tensor& hv : hessian_vector_product(linear, inputs, inputs)) {
    expect_close(hv, leaf({2}, {0.0, 0.0}), {0.0, 0.0});
  }
}

TEST(HessianVectorProductTest, PassesIndicesOnAndWorksInF32) {
  const Tensor targets = Tensor(Array::of({2}, std::vector<int64_t>{1, 0}));
  const auto f = [](std::span<const Tensor> in) { return cross_entropy(in[0], in[1]); };
  const std::vector<double> logits = {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}, ones_of = {1, 2, 3, 3, 2, 1};
  const std::vector<Tensor> wide = hessian_vector_product(f, {{leaf({2, 3}, logits), targets}},
                                                          {{leaf({2, 3}, ones_of), Tensor()}});
  EXPECT_FALSE(wide[1].defined());
  const Tensor x = Tensor(Array::of({2, 3}, DType::f32, logits));
  const Tensor v = Tensor(Array::of({2, 3}, DType::f32, ones_of));
  const std::vector<Tensor> narrow = hessian_vector_product(f, {{x, targets}}, {{v, Tensor()}});
  EXPECT_EQ(narrow[0].dtype(), DType::f32);
  expect_close(narrow[0], wide[0], tolerance_of(DType::f32));
  // Rows of the softmax's derivative sum to 0.
  expect_close(sum(wide[0]), full({}, 0.0, DType::f64), kExact);
}

TEST(HessianVectorProductTest, Misuse) {
  const Tensor x = leaf({2}, {1.0, 2.0}), longer = leaf({3}, {1.0, 2.0, 3.0});
  const auto vector = [](std::span<const Tensor> in) { return exp(in[0]); };
  EXPECT_EQ(error_of([&] {
              hessian_vector_product(vector, {&x, 1}, {&x, 1});
            }),
            "hessian_vector_product: needs a scalar function, not one that gives f64[2]");
  const Tensor undefined;
  EXPECT_EQ(error_of([&] {
              hessian_vector_product(vector, {&undefined, 1}, {&x, 1});
            }),
            "hessian_vector_product: input 0 is undefined");
  EXPECT_EQ(error_of([&] {
              hessian_vector_product([](auto) { return Tensor(); }, {&x, 1}, {&x, 1});
            }),
            "hessian_vector_product: needs a scalar function, not one that gives undefined");
  EXPECT_EQ(
      error_of([&] {
        hessian_vector_product(vector, {&x, 1}, {&longer, 1});
      }),
      "hessian_vector_product: vector 0 f64[3] differs in shape or dtype from its input f64[2]");
  EXPECT_EQ(error_of([&] {
              hessian_vector_product(vector, {&x, 1}, {});
            }),
            "hessian_vector_product: 1 inputs and 0 vectors");
}

}  // namespace
}  // namespace qkv
