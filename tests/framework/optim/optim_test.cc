#include <gtest/gtest.h>

#include "framework/optim/optimizer.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr double kRate = 0.1;

NamedParameter make_parameter(const char* name, const Shape& shape, double value) {
  return {name, parameter(Array::full(shape, DType::f64, value))};
}

double first(const Tensor& x) { return x.to_vector()[0]; }

TEST(OptimizerTest, AWrongGradientChangesNothing) {
  const NamedParameter bias = make_parameter("bias", {}, 1.0);
  const auto optimizer = make_optimizer({}, {bias, make_parameter("weight", {2}, 1.0)});
  const std::vector<Tensor> wrong = {zeros({3}, DType::f64), zeros({1, 2}, DType::f64),
                                     zeros({2}, DType::f32), Tensor()};
  for (const Tensor& gradient : wrong) {
    const std::vector<Tensor> gradients = {ones({}, DType::f64), gradient};
    expect_error("optimizer: gradient " + gradient.describe() + " for weight f64[2]",
                 [&] { optimizer->step(gradients, kRate); });
  }
  EXPECT_EQ(first(bias.tensor), 1.0);
  EXPECT_EQ(optimizer->steps(), 0);
}

TEST(OptimizerTest, KeepsTheMeanOfTheWeightsAfterEachStep) {
  const NamedParameter w = make_parameter("w", {1}, 1.0);
  const auto optimizer = make_optimizer({.kind = OptimizerKind::kSgd, .weight_decay = 0.0}, {w});
  optimizer->keep_averages(0.5);
  ASSERT_EQ(optimizer->averages().size(), 1U);
  EXPECT_EQ(first(optimizer->averages()[0]), 1.0);
  double sum = 0, weight = 0;
  for (int t = 1; t <= 4; ++t) {
    optimizer->step(std::vector<Tensor>{full({1}, t, DType::f64)}, kRate);
    sum = 0.5 * sum + first(w.tensor);
    weight = 0.5 * weight + 1;
    EXPECT_NEAR(first(optimizer->averages()[0]), sum / weight, 1e-15) << "step " << t;
  }
  EXPECT_EQ(optimizer->state().back().name, "weight.w");
  for (const double decay : {0.0, 1.0, -0.1}) {
    EXPECT_THROW(optimizer->keep_averages(decay), Error);
  }
}

}  // namespace
}  // namespace qkv
