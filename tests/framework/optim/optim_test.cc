#include <gtest/gtest.h>

#include <cmath>

#include "framework/core/error.h"
#include "framework/optim/optimizer.h"

namespace qkv {
namespace {

constexpr double kRate = 0.1;

NamedParameter make_parameter(const char* name, const Shape& shape, double value) {
  return {name, parameter(Array::full(shape, DType::f64, value))};
}

double first(const Tensor& x) { return x.to_vector()[0]; }

TEST(SgdTest, WithMomentumAddsUpGradients) {
  const NamedParameter w = make_parameter("w", {2}, 1.0);
  const auto optimizer =
      make_optimizer({.kind = OptimizerKind::kSgd, .momentum = 0.9, .weight_decay = 0.0}, {w});
  const std::vector<Tensor> gradient = {full({2}, 2.0, DType::f64)};
  optimizer->step(gradient, kRate);
  EXPECT_NEAR(first(w.tensor), 1.0 - kRate * 2.0, 1e-15);
  optimizer->step(gradient, kRate);
  EXPECT_NEAR(first(w.tensor), 1.0 - kRate * 2.0 - kRate * (0.9 * 2.0 + 2.0), 1e-15);
}

TEST(AdamTest, FollowsTheFormulaOfThePaper) {
  const NamedParameter w = make_parameter("w", {1}, 1.0);
  const OptimizerOptions options{
      .kind = OptimizerKind::kAdam, .betas = {0.9, 0.99}, .weight_decay = 0.01};
  const auto optimizer = make_optimizer(options, {w});
  double weight = 1.0, m = 0, v = 0;
  for (int t = 1; t <= 5; ++t) {
    const double g = std::sin(t) + 0.01 * weight;
    m = 0.9 * m + 0.1 * g;
    v = 0.99 * v + 0.01 * g * g;
    weight -= kRate * (m / (1 - std::pow(0.9, t))) /
              (std::sqrt(v / (1 - std::pow(0.99, t))) + options.epsilon);
    optimizer->step(std::vector<Tensor>{full({1}, std::sin(t), DType::f64)}, kRate);
    EXPECT_NEAR(first(w.tensor), weight, 1e-14) << "step " << t;
  }
}

TEST(AdamwTest, DecaysMatricesAndLeavesVectorsAlone) {
  const NamedParameter matrix = make_parameter("matrix", {1, 1}, 1.0);
  const NamedParameter vector = make_parameter("vector", {1}, 1.0);
  const auto optimizer =
      make_optimizer({.kind = OptimizerKind::kAdamW, .weight_decay = 0.5}, {matrix, vector});
  optimizer->step(std::vector<Tensor>{zeros({1, 1}, DType::f64), zeros({1}, DType::f64)}, kRate);
  EXPECT_NEAR(first(matrix.tensor), 1.0 - kRate * 0.5, 1e-15);
  EXPECT_EQ(first(vector.tensor), 1.0);
}

std::string refusal(Optimizer& optimizer, const Shape& gradient, DType dtype) {
  try {
    optimizer.step(std::vector<Tensor>{zeros(gradient, dtype)}, kRate);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptimizerTest, RefusesGradientsThatDoNotFit) {
  const NamedParameter w = make_parameter("blocks.0.weight", {2}, 1.0);
  const auto optimizer = make_optimizer({}, {w});
  const std::string rest = " for blocks.0.weight f64[2]";
  EXPECT_EQ(refusal(*optimizer, {3}, DType::f64), "optimizer: gradient f64[3]" + rest);
  EXPECT_EQ(refusal(*optimizer, {1, 2}, DType::f64), "optimizer: gradient f64[1, 2]" + rest);
  EXPECT_EQ(refusal(*optimizer, {2}, DType::f32), "optimizer: gradient f32[2]" + rest);
  EXPECT_EQ(optimizer->steps(), 0);
}

TEST(OptimizerTest, StateHasANameForEveryParameter) {
  const auto optimizer =
      make_optimizer({}, {make_parameter("a", {2}, 1.0), make_parameter("b", {3}, 1.0)});
  std::vector<std::string> names;
  for (const NamedState& s : optimizer->state()) names.push_back(s.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first_moment.a", "first_moment.b", "second_moment.a",
                                             "second_moment.b"}));
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

TEST(ClippingTest, BringsALongGradientToTheLargestNormAndLeavesAShortOne) {
  const std::vector<Tensor> gradients = {full({1}, 3.0, DType::f64), full({1}, 4.0, DType::f64)};
  EXPECT_NEAR(global_norm(gradients), 5.0, 1e-15);
  EXPECT_NEAR(5.0 * clip_scale(5.0, 1.0), 1.0, 1e-6);
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(5.0, 0.0), 1.0);
}

TEST(ScheduleTest, RisesThenFallsToTheLowest) {
  OptimizerOptions options{.learning_rate = 1.0, .warmup_steps = 9, .min_learning_rate = 0.1};
  constexpr int64_t kSteps = 110;
  const auto rate = [&](int64_t step) { return scheduled_learning_rate(options, step, kSteps); };
  for (const Schedule schedule : {Schedule::kConstant, Schedule::kLinear, Schedule::kCosine}) {
    options.schedule = schedule;
    EXPECT_NEAR(rate(0), 0.1, 1e-12);
    EXPECT_NEAR(rate(8), 0.9, 1e-12);
    EXPECT_NEAR(rate(9), 1.0, 1e-12);
  }
  EXPECT_NEAR(rate(109), 0.1, 1e-12);  // cosine
  EXPECT_NEAR(rate(59), 0.55, 1e-12);
  options.schedule = Schedule::kLinear;
  EXPECT_NEAR(rate(109), 0.1, 1e-12);
  EXPECT_NEAR(rate(34), 0.775, 1e-12);
  options.schedule = Schedule::kConstant;
  EXPECT_EQ(rate(109), 1.0);
}

}  // namespace
}  // namespace qkv
