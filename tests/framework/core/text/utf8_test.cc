#include "framework/core/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qkv {
namespace {

TEST(UnfinishedLengthTest, CountsTheBytesOfACodePointThatIsNotComplete) {
  const std::string text = "a\u00E9\u6F22\U0001F600";  // of 1, 2, 3 and 4 bytes
  const std::vector<size_t> expected = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0};
  for (size_t length = 0; length <= text.size(); ++length) {
    EXPECT_EQ(unfinished_length(text.substr(0, length)), expected[length]) << length;
  }
  for (const char* never_complete : {"a\x80", "\xFF", "\x80\x80\x80\x80"}) {
    EXPECT_EQ(unfinished_length(never_complete), 0u);
  }
}

TEST(PrintableTest, LinesAndTabsMayStay) {
  EXPECT_EQ(printable_lines("\ta\x1b\n\nb\r\n"), "\ta\\x1B\n\nb\\x0D\n");
}

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
