#include "train/watch/progress.h"

#include <gtest/gtest.h>

#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

// Nothing is called all that is not all.
TEST(ProgressTest, APercentageIsRoundedDown) {
  EXPECT_EQ(format_percent(1.0), "100.0 %");
  EXPECT_EQ(format_percent(0.9996), "99.9 %");
  EXPECT_EQ(format_percent(0.29), "29.0 %");
  EXPECT_EQ(format_percent(0.0), "0.0 %");
}

TEST(ProgressTest, ADurationIsRoundedUp) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(0.0001), "0.1 s");
  EXPECT_EQ(format_duration(0.35), "0.4 s");
  EXPECT_EQ(format_duration(0.95), "1 s");
  EXPECT_EQ(format_duration(8.2), "9 s");
  EXPECT_EQ(format_duration(184.5), "3 min 05 s");
  EXPECT_EQ(format_duration(3599), "59 min 59 s");
  EXPECT_EQ(format_duration(3600), "1 h 00 min");
  EXPECT_EQ(format_duration(7800), "2 h 10 min");
}

}  // namespace
}  // namespace qkv
