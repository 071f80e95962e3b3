#include "train/run/progress.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

// Nothing is called all that is not all.
TEST(ProgressTest, APercentageIsRoundedDown) {
  EXPECT_EQ(format_percent(1.0), "100.0 %");
  EXPECT_EQ(format_percent(0.9996), "99.9 %");
  EXPECT_EQ(format_percent(0.29), "29.0 %");
  EXPECT_EQ(format_percent(0.0), "0.0 %");
}

}  // namespace
}  // namespace qkv
