#include "apps/check/step_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

const TensorFunction kSmooth = [](std::span<const Tensor> x) { return sigmoid(x[0]) * exp(x[0]); };

std::vector<SweepPoint> sweep(const TensorFunction& f) {
  const Tensor x = leaf({5}, {0.3, -0.5, 1.0, 0.1, -0.2});
  return step_sweep(f, {&x, 1});
}

const SweepPoint& at(const std::vector<SweepPoint>& points, double step) {
  return *std::ranges::min_element(
      points, {}, [&](const SweepPoint& p) { return std::abs(std::log(p.step / step)); });
}

TEST(StepSweepTest, TheErrorFallsAsThePowerOfItsFormula) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  const SweepPoint &large = at(points, 1e-2), &small = at(points, 1e-3);
  EXPECT_NEAR(large.forward_error / small.forward_error, 10.0, 1.0);
  EXPECT_NEAR(large.central_error / small.central_error, 100.0, 10.0);
  EXPECT_LT(large.extrapolated_error, 1e-11);
}

TEST(StepSweepTest, TheErrorRisesAgainByRounding) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  EXPECT_LT(at(points, 1e-5).central_error, 1e-8);
  EXPECT_GT(at(points, 1e-14).central_error, 1e-5);
  EXPECT_LT(at(points, 1e-8).forward_error, at(points, 1e-14).forward_error);
}

TEST(StepSweepTest, AWrongDerivativeHasNoV) {
  const auto wrong = [](std::span<const Tensor> x) {
    return sigmoid(x[0]) * exp(x[0].detached());  // forgets a term
  };
  const std::vector<SweepPoint> points = sweep(wrong);
  EXPECT_TRUE(
      std::ranges::all_of(points, [](const SweepPoint& p) { return p.extrapolated_error > 1e-2; }));
}

TEST(StepSweepTest, TheTableAndTheChartShowEveryStep) {
  const std::vector<SweepPoint> points = sweep(kSmooth);
  ASSERT_EQ(points.size(), 61u);
  EXPECT_EQ(points.front().step, 1.0);
  EXPECT_NEAR(points.back().step, 1e-15, 1e-20);
  const std::string csv = sweep_csv(points);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 62);
  EXPECT_THAT(csv, HasSubstr("step,forward_error,central_error,extrapolated_error\n1.000000e+00,"));
  const LineChart chart = sweep_chart(points, "rows");
  ASSERT_EQ(chart.series.size(), 3u);
  EXPECT_EQ(chart.series[2].name.en, "extrapolated");
  EXPECT_EQ(chart.series[2].x[60], points[60].step);
  EXPECT_EQ(chart.series[2].y[60], points[60].extrapolated_error);
}

TEST(StepSweepTest, Misuse) {
  const Tensor narrow = zeros({2}), flat = zeros({2}, DType::f64);
  EXPECT_EQ(error_of([&] {
              step_sweep(kSmooth, {&narrow, 1});
            }),
            "step_sweep: needs f64: f32[2] rounds too coarsely for a sweep of step sizes");
  EXPECT_EQ(error_of([&] {
              step_sweep([](auto x) { return x[0] * 0.0; }, {&flat, 1});
            }),
            "step_sweep: the function has no slope here: backward gives 0 in every direction");
  EXPECT_EQ(error_of([&] { step_sweep(kSmooth, {}); }),
            "step_sweep: no input is f64, so there is nothing to check");
}

}  // namespace
}  // namespace qkv
