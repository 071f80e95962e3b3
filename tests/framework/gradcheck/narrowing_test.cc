// Functions that read their numbers as doubles cannot run in f128. That is noticed, and they are
// checked in f64.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/gradcheck/scalar_function.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

// exp, by an op of one's own that knows doubles only.
Tensor plain_exp(const Tensor& x, double factor) {
  return apply_scalars(
      x, [](Float128 v) { return std::exp(static_cast<double>(v)); },
      [=](Float128 v) { return factor * std::exp(static_cast<double>(v)); }, true);
}

GradcheckReport check_plain_exp(double factor) {
  const Tensor x = leaf({3}, {0.5, -1.0, 2.0});
  return gradcheck([=](auto in) { return plain_exp(in[0], factor); }, {&x, 1});
}

TEST(NarrowingTest, AnOpOfDoublesIsCheckedInF64) {
  const GradcheckReport right = check_plain_exp(1.0);
  EXPECT_TRUE(right.passed()) << right.to_text();
  EXPECT_EQ(right.computed_in, "f64");
  EXPECT_THAT(right.to_text(), HasSubstr("scalar_function reads numbers as doubles"));
  for (const double factor : {1.0 + 1e-6, -1.0, 2.0, 0.0}) {
    const GradcheckReport wrong = check_plain_exp(factor);
    EXPECT_EQ(wrong.verdict(), Verdict::kFail) << factor << "\n" << wrong.to_text();
  }
}

TEST(NarrowingTest, EveryReaderIsNamed) {
  const Tensor x = leaf({1}, {0.5});
  const auto reader_of = [&](const TensorFunction& f) {
    const GradcheckReport report = gradcheck(f, {&x, 1});
    EXPECT_EQ(report.computed_in, "f64") << report.to_text();
    EXPECT_EQ(report.notes.empty(), false);
    return report.notes.empty() ? "" : report.notes.back();
  };
  EXPECT_THAT(reader_of([](auto in) { return in[0] * in[0].item(); }), HasSubstr(": item reads"));
  EXPECT_THAT(reader_of([](auto in) { return in[0] * in[0].to_vector()[0]; }),
              HasSubstr(": to_vector reads"));
  EXPECT_THAT(reader_of([](auto in) { return in[0] * cast(cast(in[0], DType::f32), DType::f64); }),
              HasSubstr(": cast reads"));
}

// A number that was read as a double is a constant for backward, and not for differences.
TEST(NarrowingTest, WhatIsReadAndUsedFails) {
  const Tensor x = leaf({1}, {0.5});
  const GradcheckReport report = gradcheck([](auto in) { return in[0] * in[0].item(); }, {&x, 1});
  EXPECT_EQ(report.verdict(), Verdict::kFail) << report.to_text();
}

TEST(NarrowingTest, ATieOfMaximumFailsOutsideOfBothSlopes) {
  const Tensor x = leaf({1}, {0.5});
  const TensorFunction tie = [](std::span<const Tensor> in) {
    return maximum(in[0], constant({1}, {0.5}, DType::f64));
  };
  for (const double slope : {0.0, 0.5, 1.0}) {
    const PlantedBackward between = [=](const Tensor&, const Tensor& dy) { return slope * dy; };
    EXPECT_EQ(check_planted(tie, between, x).verdict(), Verdict::kUndecided) << slope;
  }
  for (const double slope : {-1.0, -1e-3, 1.001}) {
    const PlantedBackward outside = [=](const Tensor&, const Tensor& dy) { return slope * dy; };
    EXPECT_EQ(check_planted(tie, outside, x).verdict(), Verdict::kFail) << slope;
  }
}

}  // namespace
}  // namespace qkv
