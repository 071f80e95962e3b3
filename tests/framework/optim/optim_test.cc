#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

TEST(OptimizerTest, AdamWTakesTheDecayOffMatricesAlone) {
  for (const Shape& shape : {Shape{1}, Shape{1, 1}}) {
    const NamedParameter w = make_parameter("w", shape, 1.0);
    const auto adamw = make_optimizer({.kind = OptimizerKind::kAdamW, .weight_decay = 0.5}, {w});
    adamw->step(std::vector<Tensor>{zeros(shape, DType::f64)}, kRate);
    EXPECT_EQ(first(w.tensor), shape.rank() == 2 ? 1.0 - kRate * 0.5 : 1.0);
  }
}

// Five steps bring the singular values of any matrix near 1: the update of a matrix has a size that
// does not depend on the gradient's, and no direction of it is left out.
TEST(OptimizerTest, MuonMovesAMatrixAsFarInEveryDirection) {
  for (const Shape& shape : {Shape{2, 3}, Shape{3, 2}, Shape{2, 2}}) {
    const NamedParameter w = make_parameter("w", shape, 0.0);
    const auto muon = make_optimizer({.kind = OptimizerKind::kMuon, .weight_decay = 0.0}, {w});
    const int64_t columns = shape[1];
    std::vector<double> gradient(static_cast<size_t>(shape.size()), 0.0);
    gradient[0] = 1000.0;  // the diagonal has the singular values 1,000 and 200
    gradient[static_cast<size_t>(columns) + 1] = -200.0;
    muon->step(std::vector<Tensor>{Tensor(Array::of(shape, DType::f64, gradient))}, 1.0);
    const std::vector<double> moved = w.tensor.to_vector();
    const double factor = 0.2 * std::sqrt(std::max(shape[0], columns));
    for (size_t i = 0; i < moved.size(); ++i) {
      const double size = gradient[i] == 0 ? 0 : gradient[i] > 0 ? -factor : factor;
      EXPECT_NEAR(moved[i], size, 0.35 * std::abs(size)) << shape.to_string() << " " << i;
    }
  }
}

TEST(OptimizerTest, AGroupIsNamedByItsParameters) {
  const auto group = [](const char* name, const Shape& shape) {
    return group_of(make_parameter(name, shape, 0.0));
  };
  for (const char* name : {"token_embedding.weight", "encoder.position_embedding.weight",
                           "patch_embedding.weight", "head.weight"}) {
    EXPECT_EQ(group(name, {2, 2}), ParameterGroup::kEmbedding) << name;
  }
  for (const char* name :
       {"blocks.0.learned.scores", "blocks.0.attention.position.distance_bias"}) {
    EXPECT_EQ(group(name, {2, 2}), ParameterGroup::kOther) << name;
  }
  EXPECT_EQ(group("blocks.0.attention.query.weight", {2, 2}), ParameterGroup::kMatrix);
  EXPECT_EQ(group("blocks.0.convolution.weight", {2, 2, 3}), ParameterGroup::kMatrix);
  EXPECT_EQ(group("head.bias", {2}), ParameterGroup::kOther);
}

}  // namespace
}  // namespace qkv
