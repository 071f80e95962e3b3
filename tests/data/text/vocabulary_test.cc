#include "data/text/vocabulary.h"

#include <gtest/gtest.h>

#include "framework/core/error.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

using Tokens = std::vector<int64_t>;

std::string message(const absl::Status& status) { return std::string(status.message()); }

TEST(Utf8Test, AcceptsExactlyTheShortestFormsOfCodePointsThatExist) {
  EXPECT_EQ(code_point_length("a"), 1u);
  EXPECT_EQ(code_point_length(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(code_point_length("\xC2\x80"), 2u);          // U+0080, the first of two bytes
  EXPECT_EQ(code_point_length("\xE0\xA0\x80z"), 3u);     // U+0800, the first of three
  EXPECT_EQ(code_point_length("\xF0\x90\x80\x80"), 4u);  // U+10000, the first of four
  EXPECT_EQ(code_point_length("\xF4\x8F\xBF\xBF"), 4u);  // U+10FFFF, the last

  EXPECT_EQ(code_point_length(""), 0u);
  EXPECT_EQ(code_point_length("\x80"), 0u);              // a continuation byte alone
  EXPECT_EQ(code_point_length("\xC3"), 0u);              // cut off
  EXPECT_EQ(code_point_length("\xC3("), 0u);             // no continuation
  EXPECT_EQ(code_point_length("\xC1\xBF"), 0u);          // overlong
  EXPECT_EQ(code_point_length("\xE0\x9F\xBF"), 0u);      // overlong
  EXPECT_EQ(code_point_length("\xF0\x8F\xBF\xBF"), 0u);  // overlong
  EXPECT_EQ(code_point_length("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(code_point_length("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(code_point_length("\xFF"), 0u);
}

TEST(VocabularyTest, CharactersOfSeveralBytesAreOneTokenEach) {
  const auto vocabulary = *Vocabulary::create({"a", "é", "€", "🙂", " "});
  EXPECT_EQ(*vocabulary.encode("€a 🙂é"), (Tokens{2, 0, 4, 3, 1}));
  EXPECT_EQ(vocabulary.decode(Tokens{2, 0, 4, 3, 1}), "€a 🙂é");
  EXPECT_EQ(*vocabulary.encode(""), Tokens{});
}

TEST(VocabularyTest, TokensOfSeveralCharactersAreWrittenWithSpacesBetween) {
  const auto vocabulary = *Vocabulary::create({"1", "12", "+", "="});
  EXPECT_EQ(*vocabulary.encode("12 + 1 ="), (Tokens{1, 2, 0, 3}));
  EXPECT_EQ(*vocabulary.encode("  12\t+\n1 = "), (Tokens{1, 2, 0, 3}));
  EXPECT_EQ(vocabulary.decode(Tokens{1, 2, 0, 3}), "12 + 1 =");
}

TEST(VocabularyTest, TextUpToItsLastSpaceHasAllItsTokens) {
  const auto vocabulary = *Vocabulary::create({"law", "its", "a"});
  EXPECT_EQ(vocabulary.safe_length("law it"), 4u);
  EXPECT_EQ(vocabulary.safe_length("law its "), 8u);
  EXPECT_EQ(vocabulary.safe_length("law"), 0u);
  EXPECT_EQ(vocabulary.safe_length(""), 0u);
}

TEST(VocabularyTest, AnUnknownCharacterIsNamedWithItsPlaceAndWhatIsKnown) {
  const auto letters = *Vocabulary::create({"\n", "a", "é"});
  EXPECT_EQ(message(letters.encode("aéx").status()),
            "unknown character 3: \"x\"; the vocabulary is: \\naé");
  EXPECT_EQ(message(letters.encode("a€").status()),
            "unknown character 2: \"€\"; the vocabulary is: \\naé");
  EXPECT_EQ(message(letters.encode("a\xFF").status()),
            "the text is not UTF-8: byte 0xFF at character 2");
  const auto numbers = *Vocabulary::create({"0", "10", "="});
  EXPECT_EQ(message(numbers.encode("10 99 =").status()),
            "unknown token 2: \"99\"; the vocabulary is: 0 10 =");
}

TEST(VocabularyTest, ALongListOfWhatIsKnownIsCutShort) {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(std::to_string(i));
  const auto vocabulary = *Vocabulary::create(texts);
  const std::string text = message(vocabulary.encode("x").status());
  EXPECT_NE(text.find(" 118 119 … (300 in all)"), std::string::npos) << text;
}

TEST(VocabularyTest, TextsThatCannotBeAVocabularyAreRefused) {
  EXPECT_EQ(message(Vocabulary::create({"a", ""}).status()), "vocabulary: token 1 has no text");
  EXPECT_EQ(message(Vocabulary::create({"a", "b", "a"}).status()),
            "vocabulary: tokens 0 and 2 have the same text, \"a\"");
  EXPECT_EQ(message(Vocabulary::create({"\xC3"}).status()), "vocabulary: token 0 is not UTF-8");
  EXPECT_EQ(message(Vocabulary::create({"10", "1 0"}).status()),
            "vocabulary: \"1 0\" contains white space, which stands between tokens of several "
            "letters");
}

TEST(VocabularyTest, DecodingATokenThatIsNotThereThrows) {
  const auto vocabulary = *Vocabulary::create({"a", "b"});
  EXPECT_THROW(vocabulary.decode(Tokens{2}), Error);
  EXPECT_THROW(vocabulary.decode(Tokens{-1}), Error);
}

}  // namespace
}  // namespace qkv
