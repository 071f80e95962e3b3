#include "models/examples.h"

#include <gtest/gtest.h>

#include "framework/gradcheck/gradcheck.h"

namespace qkv {
namespace {

void expect_right_gradients(const GradcheckOptions& options) {
  for (const OpExamples& kind : model_examples()) {
    for (const OpExample& example : kind.examples) {
      const auto inputs = make_inputs(example, DType::f64, RandomStream(7));
      const GradcheckReport report = gradcheck(example.f, inputs, options);
      EXPECT_TRUE(report.passed()) << kind.op << ", " << example.name << "\n" << report.to_text();
      EXPECT_GT(report.elements, 0) << example.name;
    }
  }
}

TEST(ModelExamplesTest, GradientsOfFirstOrderAreRight) { expect_right_gradients({.order = 1}); }

// Of each parameter the elements with the largest derivatives, some others, and a direction.
TEST(ModelExamplesTest, GradientsOfSecondOrderAreRight) {
  expect_right_gradients({.order = 2, .max_elements = 0, .sampled_elements = 2});
}

}  // namespace
}  // namespace qkv
