#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/names.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "framework/nn/layer_options.h"
#include "framework/optim/optimizer_options.h"

namespace qkv {
namespace {

TEST(TerminalTest, WideLinesAreFoldedBetweenWords) {
  EXPECT_EQ(folded("short\n", 20), "short\n");
  EXPECT_EQ(folded("one two three four", 10), "one two\n  three\n  four");
  EXPECT_EQ(folded("  one two three\nnext\n", 10), "  one two\n    three\nnext\n");
  EXPECT_EQ(folded("", 10), "");
  EXPECT_EQ(folded("\n\n", 10), "\n\n");
  EXPECT_EQ(folded("a/path/of/twenty/columns", 10), "a/path/of/twenty/columns")
      << "a word stays whole";
  EXPECT_EQ(folded("汉字汉字汉字", 8), "汉字汉字\n  汉字") << "a Chinese character has two columns";
}

TEST(TerminalTest, WhatIsFoldedOfATableBeginsUnderItsLastColumn) {
  EXPECT_EQ(folded("  a  one two three", 12), "  a  one two\n     three");
  EXPECT_EQ(folded("  a long name  one two three", 16), "  a long name\n    one two\n    three");
}

TEST(TerminalTest, ColoursAreForVerdictsAndHeads) {
  EXPECT_EQ(coloured("op add  PASS\n", false), "op add  \x1b[32mPASS\x1b[0m\n");
  EXPECT_EQ(coloured("✗ loss", false), "\x1b[31m✗\x1b[0m loss");
  EXPECT_EQ(coloured("PASSED, a BYPASS", false), "PASSED, a BYPASS");
  EXPECT_EQ(coloured("[model]\nd_ff = 1\n", false), "\x1b[1m[model]\x1b[0m\nd_ff = 1\n");
  EXPECT_EQ(coloured("run  loss\na  1\n", true), "\x1b[1mrun  loss\x1b[0m\na  1\n");
}

TEST(TerminalTest, TheFirstColumnsOfATextEndBetweenCharacters) {
  EXPECT_EQ(first_columns("abc", 2), "ab");
  EXPECT_EQ(first_columns("汉字", 3), "汉");
  EXPECT_EQ(first_columns("é", 1), "é");
  EXPECT_EQ(first_columns("a", 0), "");
}

TEST(TerminalTest, ATableThatIsTooWideLosesItsLeastImportantColumns) {
  const std::vector<std::vector<std::string>> rows = {{"run", "task", "loss"},
                                                      {"a", "reverse", "1.5"}};
  EXPECT_EQ(fitted_table(rows, {.left = 2}, {"task"}, 80), aligned(rows, {.left = 2}));
  EXPECT_EQ(fitted_table(rows, {.left = 2}, {"task", "run"}, 12),
            "run  loss\na     1.5\nleft out, as it is too wide: task; --json FILE has all\n");
}

TEST(TerminalTest, ALongNameInATableLosesItsBeginning) {
  EXPECT_EQ(last_columns("abc", 3), "abc");
  EXPECT_EQ(last_columns("abcd", 3), "…cd");
  EXPECT_EQ(last_columns("a汉字", 4), "…字");
  const std::vector<std::vector<std::string>> rows = {
      {"run", "task", "loss"}, {"runs/of-the-last-week/first", "sort", "1.5"}, {"a", "sort", "2"}};
  EXPECT_EQ(fitted_table(rows, {.left = 2}, {"task"}, 34),
            "run                     task  loss\n"
            "…f-the-last-week/first  sort   1.5\n"
            "a                       sort     2\n");
  EXPECT_EQ(fitted_table(rows, {.left = 2}, {"task"}, 31),
            "run                        loss\n"
            "…s/of-the-last-week/first   1.5\n"
            "a                             2\n"
            "left out, as it is too wide: task; --json FILE has all\n");
  EXPECT_EQ(fitted_table(rows, {.left = 2}, {"task"}, 14),
            "run       loss\n"
            "…k/first   1.5\n"
            "a            2\n"
            "left out, as it is too wide: task; --json FILE has all\n");
}

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

TEST(NamesTest, AValueThatIsNoneOfItsEnumerationIsMisuse) {
  EXPECT_THROW(name_of(static_cast<Schedule>(-1)), Error);
}

template <class E>
void expect_each_once() {
  std::set<E> values;
  std::set<std::string> names;
  for (const Named<E>& entry : kNames<E>) {
    values.insert(entry.value);
    names.insert(entry.name);
  }
  EXPECT_EQ(values.size(), std::size(kNames<E>));
  EXPECT_EQ(names.size(), std::size(kNames<E>));
}

TEST(NamesTest, NoTwoValuesShareANameAndNoTwoNamesAValue) {
  expect_each_once<Activation>();
  expect_each_once<NormKind>();
  expect_each_once<NormPlace>();
  expect_each_once<Position>();
  expect_each_once<OptimizerKind>();
  expect_each_once<Schedule>();
}

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
