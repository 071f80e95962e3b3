#include "models/model_examples.h"
#include "tests/framework/gradcheck/false_alarm.h"

namespace qkv {
namespace {

TEST(ModelExamplesTest, GradientsOfBothOrdersAreRight) {
  expect_no_false_alarm(model_examples(), 1);
}

// With these seeds the remainder of a gradient that is right changes its sign between two steps, so
// that it does not fall as h² there.
TEST(ModelExamplesTest, ARemainderThatCrossesZeroIsNoKink) {
  for (const OpExamples& model : model_examples()) {
    if (model.op != "Classifier") continue;
    for (const OpExample& example : model.examples) {
      for (const uint64_t seed : {295, 514}) {
        const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
        const GradcheckReport report = gradcheck(example.f, inputs, {.seed = seed});
        EXPECT_TRUE(report.passed()) << example.name << ", seed " << seed << "\n"
                                     << report.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace qkv
