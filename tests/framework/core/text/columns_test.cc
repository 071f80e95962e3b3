#include "framework/core/text/columns.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

TEST(ColumnsTest, ChineseTakesTwoColumnsAndBreaksAnywhere) {
  EXPECT_EQ(text_width("a注意b"), 6);
  EXPECT_EQ(wrapped("注意力 abc", 4), "注意\n力\nabc\n");
  EXPECT_EQ(wrapped("one two three", 8, "  "), "  one\n  two\n  three\n");
}

TEST(ColumnsTest, ATableHasItsColumnsOneUnderTheOther) {
  EXPECT_EQ(aligned({{"op", "注意", "n"}, {"linear", "b", "12"}}, {.left = 2, .indent = "> "}),
            "> op      注意   n\n"
            "> linear  b     12\n");
  EXPECT_EQ(aligned({{"a", "1", ""}, {"b", "", ""}}, {.left = 1, .least_width = 3}), "a    1\nb\n");
}

}  // namespace
}  // namespace qkv
