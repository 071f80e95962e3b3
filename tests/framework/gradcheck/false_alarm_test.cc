// What is right must pass, whatever the numbers. QKV_GRADCHECK_SEEDS=1000 in the environment looks
// longer than the few seeds that every run of the tests takes.

#include <gtest/gtest.h>

#include <cstdlib>

#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/examples.h"

namespace qkv {
namespace {

uint64_t seeds() {
  const char* text = std::getenv("QKV_GRADCHECK_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 4;
}

TEST(FalseAlarmTest, EveryOpPassesAtBothOrdersForManySeeds) {
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    for (const OpExamples& op : op_examples()) {
      for (const OpExample& example : op.examples) {
        const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
        const GradcheckReport report = gradcheck(example.f, inputs, {.order = 2, .seed = seed});
        EXPECT_TRUE(report.passed()) << op.op << ", " << example.name << ", seed " << seed << "\n"
                                     << report.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace qkv
