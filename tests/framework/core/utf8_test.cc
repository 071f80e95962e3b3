#include "framework/core/utf8.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

TEST(PrintableTest, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(printable("a\x1b[2J\x7f\r"), "a\\x1B[2J\\x7F\\x0D");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xC2\\x9B");  // U+009B, as long as ESC [
  EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0");    // U+00A0, a space
  EXPECT_EQ(printable("\xFF\xC2"), "\\xFF\\xC2");
}

TEST(PrintableTest, ControlsOfTheDirectionOfWritingAreEscaped) {
  EXPECT_EQ(printable("txt\u202Eexe"), "txt\\xE2\\x80\\xAEexe");
  for (const char* control : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D",
                              "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(printable(control).substr(0, 2), "\\x") << control;
    EXPECT_EQ(escape(control).substr(0, 2), "\\x") << control;
  }
  for (const char* letter : {"\u061B", "\u061E", "\u200D", "\u2010", "\u2029", "\u202F", "\u2065",
                             "\u206A", "\u05D0", "\u4E2D", "\U0001F600"}) {
    EXPECT_EQ(printable(letter), letter);
  }
}

}  // namespace
}  // namespace qkv
