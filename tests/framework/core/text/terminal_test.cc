#include "framework/core/text/terminal.h"

#include <gtest/gtest.h>

#include <string>

#include "framework/core/text/columns.h"

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

}  // namespace
}  // namespace qkv
