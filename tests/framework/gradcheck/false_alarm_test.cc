// What is right passes.

#include "tests/framework/gradcheck/false_alarm.h"

#include "framework/nn/layer_examples.h"

namespace qkv {
namespace {

TEST(FalseAlarmTest, EveryOpPassesForManySeeds) { expect_no_false_alarm(op_examples(), 4); }

TEST(FalseAlarmTest, EveryLayerPasses) { expect_no_false_alarm(layer_examples(), 1); }

}  // namespace
}  // namespace qkv
