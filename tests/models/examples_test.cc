#include "models/examples.h"

#include "tests/framework/gradcheck/false_alarm.h"

namespace qkv {
namespace {

TEST(ModelExamplesTest, GradientsOfBothOrdersAreRight) {
  expect_no_false_alarm(model_examples(), 1);
}

}  // namespace
}  // namespace qkv
