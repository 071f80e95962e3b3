#include "framework/core/text/mistakes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

TEST(MistakesTest, ALongMessageKeepsItsBeginningAndItsEnd) {
  const std::string text = absl::StrCat(std::string(1500, 'a'), "b", std::string(500, 'c'));
  EXPECT_EQ(lines_to_show(absl::UnknownError(text.substr(1))), std::vector{text.substr(1)});
  const std::string shown = absl::StrCat(std::string(1500, 'a'), "…", std::string(500, 'c'));
  EXPECT_EQ(lines_to_show(absl::UnknownError(text)), std::vector{shown});
}

TEST(MistakesTest, ALongListNamesItsFirst) {
  EXPECT_EQ(listed({"x", "y", "z"}, ", ", 2), "x, y and 1 more");
  EXPECT_EQ(listed({"x", "y", "z"}, " or ", 3), "x or y or z");
  EXPECT_EQ(listed({std::string(81, 'x')}, ", ", 1), std::string(80, 'x') + "…");
}

}  // namespace
}  // namespace qkv
