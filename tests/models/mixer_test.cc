#include <gtest/gtest.h>

#include "models/mixer_kind.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(MixerKindTest, MakesTheLayerOfItsName) {
  for (const MixerKind& kind : mixer_kinds()) {
    Initializer init(RandomStream(1), DType::f32);
    const Mixer made =
        kind.make(init, {}, {.max_length = 4, .causal = true, .residual_deviation = 0.02});
    EXPECT_EQ(made.name(), kind.name);
  }
}

TEST(MixerKindTest, SaysItWhenThereIsNone) {
  expect_error("model: there is no mixer \"spoon\"", [] { find_mixer("spoon"); });
}

}  // namespace
}  // namespace qkv
