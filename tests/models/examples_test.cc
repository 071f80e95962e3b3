#include "models/examples.h"

#include "tests/framework/gradcheck/false_alarm.h"
#include "tests/framework/gradcheck/forward_agreement.h"

namespace qkv {
namespace {

TEST(ModelExamplesTest, GradientsOfBothOrdersAreRight) {
  expect_no_false_alarm(model_examples(), 1);
}

TEST(ModelExamplesTest, ForwardModeAgreesWithBackward) {
  for (const OpExamples& kind : model_examples()) {
    for (const OpExample& example : kind.examples) {
      const auto inputs = make_inputs(example, DType::f64, RandomStream(7));
      EXPECT_LE(forward_disagreement(example.f, inputs), 1e-14) << kind.op << ", " << example.name;
    }
  }
}

}  // namespace
}  // namespace qkv
