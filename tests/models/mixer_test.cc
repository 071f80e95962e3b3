#include <gtest/gtest.h>

#include "models/mixer_kind.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(MixerKindTest, SaysItWhenThereIsNone) {
  expect_error("model: there is no mixer \"spoon\"", [] { find_mixer("spoon"); });
}

}  // namespace
}  // namespace qkv
