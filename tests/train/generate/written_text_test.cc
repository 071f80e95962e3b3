#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "train/generate/continue_texts.h"

namespace qkv {
namespace {

struct Shown {
  std::vector<std::string> parts;
  std::string text;
  TextEnd end;
};

// What is shown, part by part, of these tokens of the vocabulary.
Shown show(const std::vector<std::string>& vocabulary_texts, const std::vector<std::string>& tokens,
           const std::vector<std::string>& stops, const std::string& last_token = "") {
  const Vocabulary vocabulary = Vocabulary::create(vocabulary_texts).value();
  WrittenText text(vocabulary, 0, stops, last_token);
  Shown shown;
  for (const std::string& token : tokens) {
    const bool goes_on = text.add(vocabulary.encode(token).value().front());
    shown.parts.push_back(text.take_settled());
    if (!goes_on) break;
  }
  shown.parts.push_back(text.take_rest());
  shown.text = text.text();
  shown.end = text.end();
  return shown;
}

const std::vector<std::string> kLetters = {"a", "b", "c", "\n"};

TEST(WrittenTextTest, EveryTokenIsShownWhenItComes) {
  const Shown shown = show(kLetters, {"a", "b", "\n", "c"}, {});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"a", "b", "\n", "c", ""}));
  EXPECT_EQ(shown.end, TextEnd::kLength);
}

TEST(WrittenTextTest, TheTextEndsBeforeAStopThatSeveralTokensMake) {
  const Shown shown = show(kLetters, {"a", "b", "b", "a", "b", "c", "a"}, {"abc", "cc"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"", "", "abb", "", "", "", ""}));
  EXPECT_EQ(shown.text, "abb");
  EXPECT_EQ(shown.end, TextEnd::kStop);
}

TEST(WrittenTextTest, WhatMightHaveBeenAStopIsShownInTheEnd) {
  const Shown shown = show(kLetters, {"c", "a", "b"}, {"abc"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"c", "", "", "ab"}));
  EXPECT_EQ(shown.end, TextEnd::kLength);
}

TEST(WrittenTextTest, TheFirstOfSeveralStopsEndsIt) {
  EXPECT_EQ(show(kLetters, {"c", "a", "b", "c"}, {"c\n", "b", "ab"}).text, "c");
}

TEST(WrittenTextTest, TheLastTokenIsNoPartOfTheText) {
  const Shown shown = show(kLetters, {"a", "\n", "b"}, {}, "\n");
  EXPECT_EQ(shown.text, "a");
  EXPECT_EQ(shown.end, TextEnd::kLastToken);
}

TEST(WrittenTextTest, WordsAreWrittenWithSpaces) {
  const Shown shown = show({"one", "two", "="}, {"two", "=", "one", "two"}, {"e t"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{" two", " =", " on", "", ""}));
  EXPECT_EQ(shown.text, " two = on");
}

TEST(WrittenTextTest, NoHalfOfACharacterIsShown) {
  const Vocabulary bytes = Vocabulary::of_bytes();
  WrittenText text(bytes, 'x', {}, "");
  std::vector<std::string> parts;
  for (const unsigned char byte : std::string("a€\xE2\x82z\xFF\xF0\x9F")) {
    text.add(byte);
    parts.push_back(text.take_settled());
  }
  EXPECT_EQ(text.text(), "a€\uFFFD\uFFFDz\uFFFD\uFFFD");
  parts.push_back(text.take_rest());
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "", "€", "", "", "\uFFFD\uFFFDz", "\uFFFD",
                                             "", "", "\uFFFD"}));
}

TEST(WrittenTextTest, AStopTakesWhatIsUnfinishedBehindItAlong) {
  const Vocabulary bytes = Vocabulary::of_bytes();
  WrittenText text(bytes, 'x', {"\uFFFD"}, "");
  EXPECT_TRUE(text.add('a') && text.add(0xE2));
  EXPECT_FALSE(text.add(0xC3));
  EXPECT_EQ(text.text(), "a");
}

}  // namespace
}  // namespace qkv
