// Bytes, words and byte pairs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_replace.h"
#include "data/text/byte_pairs.h"
#include "data/text/pieces.h"
#include "data/text/tokenizer_json.h"
#include "data/text/vocabulary.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    pieces.emplace_back(text.substr(0, piece_length(text)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

Vocabulary learned(TokenKind kind, int64_t size, std::string_view text) {
  VocabularyBuilder builder(kind, size);
  builder.add(text);
  return builder.build().value();
}

std::vector<std::string> texts_of(const Vocabulary& vocabulary, std::string_view text) {
  std::vector<std::string> texts;
  const std::vector<int64_t> tokens = vocabulary.encode(text).value();
  for (const int64_t token : tokens) {
    texts.push_back(vocabulary.texts()[static_cast<size_t>(token)]);
  }
  return texts;
}

// What a text may be made of, so that the rules of pieces meet.
std::string random_text(RandomStream& random) {
  static const std::vector<std::string> parts = {
      "a", "b",  "ab", "the", " ", " ",  "  ", "\n", "\t",     "'",      "'s", "r",  "e",     "v",
      "l", "ll", "7",  "½",   "é", "语", "😀",  "ا",  "\u00a0", "\u3000", ".",  "!?", "\u0301"};
  std::string text;
  for (auto left = random.below(30); left > 0; --left) text += parts[random.below(parts.size())];
  return text;
}

constexpr TokenKind kKinds[] = {TokenKind::kCharacters, TokenKind::kBytes, TokenKind::kWords,
                                TokenKind::kBpe};

TEST(PiecesTest, AreThoseOfGpt2) {
  EXPECT_THAT(pieces_of("The cats' 2026th, they'll say: it's!"),
              ElementsAre("The", " cats", "'", " 2026", "th", ",", " they", "'ll", " say", ":",
                          " it", "'s", "!"));
  EXPECT_THAT(pieces_of("a  b\n\n c \t"), ElementsAre("a", " ", " b", "\n\n", " c", " \t"));
  EXPECT_THAT(pieces_of("\n\nx\n"), ElementsAre("\n", "\n", "x", "\n"));
  EXPECT_THAT(pieces_of("''s 'S 'va"), ElementsAre("''", "s", " '", "S", " '", "va"));
  EXPECT_THAT(pieces_of("día 第3章 x²Ⅷ e\u0301"),
              ElementsAre("día", " 第", "3", "章", " x", "²Ⅷ", " e", "\u0301"));
  EXPECT_THAT(pieces_of("a\u3000\u3000b\u0085"),
              ElementsAre("a", "\u3000", "\u3000", "b", "\u0085"));
  EXPECT_THAT(pieces_of("a\xFF\xC3"), ElementsAre("a", "\xFF\xC3"));
  EXPECT_THAT(pieces_of(std::string_view("aé").substr(0, 2)), ElementsAre("a", "\xC3"))
      << "what follows a text is no part of it";
}

TEST(TokensTest, PairsThatAreFrequentAreLearnedFirst) {
  // "ab" occurs 5 times, "bc" 4 times, and "abc" is "ab" and "c" 4 times.
  const Vocabulary vocabulary = learned(TokenKind::kBpe, 258, "abc.abc.abc.abc.ab");
  EXPECT_EQ(vocabulary.texts()[256], "ab");
  EXPECT_EQ(vocabulary.texts()[257], "abc");
  EXPECT_THAT(texts_of(vocabulary, "abcab cab"), ElementsAre("abc", "ab", " ", "c", "ab"));
}

TEST(TokensTest, OfPairsThatAreAsFrequentTheLowestTokensComeFirst) {
  const Vocabulary vocabulary = learned(TokenKind::kBpe, 259, "zy.ba.dc");
  EXPECT_EQ(vocabulary.texts()[256], "ba");
  EXPECT_EQ(vocabulary.texts()[257], "dc");
  EXPECT_EQ(vocabulary.texts()[258], "zy");
}

TEST(TokensTest, EqualLettersAreMergedFromTheLeft) {
  const Vocabulary vocabulary = learned(TokenKind::kBpe, 258, "aaaaa aaaaa");
  EXPECT_THAT(texts_of(vocabulary, "aaaaaaa"), ElementsAre("aa", "aa", "aaa"));
}

// The definition, without a heap or counts that are kept.
TEST(TokensTest, LearningIsThatOfTheDefinition) {
  RandomStream random(3);
  std::string text;
  for (int i = 0; i < 600; ++i) {
    text += ' ';
    for (auto left = random.below(6) + 1; left > 0; --left) text += "abcd"[random.below(4)];
  }
  const Vocabulary vocabulary = learned(TokenKind::kBpe, 290, text);
  std::vector<std::vector<std::string>> pieces;
  for (const std::string& piece : pieces_of(text)) {
    std::vector<std::string>& letters = pieces.emplace_back();
    for (const char c : piece) letters.emplace_back(1, c);
  }
  for (const TokenMerge& merge : vocabulary.merges()) {
    std::map<std::pair<std::string, std::string>, int> counts;
    for (const auto& piece : pieces) {
      for (size_t i = 0; i + 1 < piece.size(); ++i) ++counts[{piece[i], piece[i + 1]}];
    }
    const auto text_of = [&](int64_t token) {
      return vocabulary.texts()[static_cast<size_t>(token)];
    };
    const std::pair pair(text_of(merge.left), text_of(merge.right));
    for (const auto& [other, count] : counts) EXPECT_LE(count, counts[pair]) << other.first;
    for (auto& piece : pieces) {
      for (size_t i = 0; i + 1 < piece.size(); ++i) {
        if (piece[i] != pair.first || piece[i + 1] != pair.second) continue;
        piece[i] += piece[i + 1];
        piece.erase(piece.begin() + static_cast<int64_t>(i) + 1);
      }
    }
  }
}

TEST(TokensTest, CharactersThatAreTooRareAreOneToken) {
  VocabularyBuilder all(TokenKind::kCharacters, 0);
  all.add("a�");
  EXPECT_EQ(all.build()->size(), 2);  // none is unknown: that character is one as others are
  VocabularyBuilder builder(TokenKind::kCharacters, 0, "", 2);
  builder.add("abéab\uFFFD\uFFFD");
  builder.end_text();
  builder.add("éc");
  builder.end_text();
  builder.add_answer("z語");
  builder.add_validation("qq");
  builder.add_token("\t");
  const Vocabulary vocabulary = builder.build().value();
  EXPECT_THAT(vocabulary.texts(), ElementsAre("\t", "a", "b", "z", "é", "語", "\uFFFD"));
  EXPECT_EQ(vocabulary.unknown(), 6);
  EXPECT_THAT(texts_of(vocabulary, "acé😀\uFFFD"),
              ElementsAre("a", "\uFFFD", "é", "\uFFFD", "\uFFFD"));
  EXPECT_EQ(vocabulary_of_tokenizer(tokenizer_json(vocabulary)).value(), vocabulary);
  EXPECT_FALSE(vocabulary.encode("\xC3").ok());
}

TEST(TokensTest, WordsThatAreTooRareAreNotKnown) {
  VocabularyBuilder builder(TokenKind::kWords, 9, "", 2);
  builder.add("a cat a cat a dog");
  builder.end_text();
  builder.add_answer(" a fox");
  builder.add_token("\t");
  EXPECT_THAT(builder.build().value().texts(),
              ElementsAre(" <unk>", "\n", "\t", " a", " cat", " fox"));
}

TEST(TokensTest, NoTokenCrossesAMark) {
  const Vocabulary vocabulary = learned(TokenKind::kBpe, 258, "\t\t \t\t \t\t");
  EXPECT_EQ(texts_of(vocabulary, "a\t\t").size(), 2u);
  EXPECT_EQ(vocabulary.encode_apart("a\t\tb", "\t").value().size(), 4u);
  EXPECT_EQ(vocabulary.encode_apart("a\t\tb", "").value(), vocabulary.encode("a\t\tb").value());
}

TEST(TokensTest, WordsThatAreNotKnownAreOneToken) {
  const Vocabulary vocabulary = learned(TokenKind::kWords, 4, "the cat the dog the");
  EXPECT_THAT(vocabulary.texts(), ElementsAre(" <unk>", "\n", " the", " cat"));
  EXPECT_EQ(vocabulary.unknown(), 0);
  EXPECT_THAT(texts_of(vocabulary, "a cat\n the zebra"),
              ElementsAre(" <unk>", " cat", "\n", " the", " <unk>"));
}

TEST(TokensTest, EveryTextIsItsTokens) {
  RandomStream random(1);
  std::string text;
  for (int i = 0; i < 50; ++i) text += random_text(random);
  for (const TokenKind kind : {TokenKind::kBytes, TokenKind::kBpe}) {
    const Vocabulary vocabulary = learned(kind, 300, text);
    for (int i = 0; i < 200; ++i) {
      std::string bytes = random_text(random);
      for (auto left = random.below(9); left > 0; --left) {
        bytes += static_cast<char>(random.below(256));
      }
      EXPECT_EQ(vocabulary.decode(vocabulary.encode(bytes).value()), bytes);
    }
  }
}

// Whether a text, of which so much has been read, is cut at all: its parts have its tokens.
bool is_cut_safely(const Vocabulary& vocabulary, const std::string& whole, size_t read) {
  const size_t length = vocabulary.safe_length(std::string_view(whole).substr(0, read));
  EXPECT_LE(length, read);
  std::vector<int64_t> tokens;
  EXPECT_TRUE(vocabulary.encode(whole.substr(0, length), tokens).ok());
  EXPECT_TRUE(vocabulary.encode(whole.substr(length), tokens).ok());
  EXPECT_EQ(tokens, vocabulary.encode(whole).value()) << read << " of " << whole;
  return length > 0;
}

TEST(TokensTest, ATextCanBeCutAtItsSafeLength) {
  RandomStream random(2);
  std::string learn;
  for (int i = 0; i < 80; ++i) learn += random_text(random);
  for (const TokenKind kind : kKinds) {
    const Vocabulary vocabulary = learned(kind, 320, learn);
    int64_t cut = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::string whole = random_text(random) + random_text(random);
      cut += is_cut_safely(vocabulary, whole, random.below(whole.size() + 1));
    }
    EXPECT_GT(cut, 1000);
  }
}

// Texts that begin alike, overlap, hold white space and are put together, too.
Vocabulary with_added_tokens() {
  const Vocabulary learned = ::qkv::learned(TokenKind::kBpe, 258, "the the ab");
  std::vector<std::string> texts = learned.texts();
  std::vector<int64_t> added;
  for (const char* text : {"<|end", "<|end|>", "d|>the", " \n", "b<", "語", "th"}) {
    added.push_back(std::ssize(texts));
    texts.emplace_back(text);
  }
  return Vocabulary::of_byte_pairs(texts, learned.merges(), added).value();
}

TEST(TokensTest, AddedTokensAreFoundFirstTheLeftmostAndThenTheLongest) {
  const Vocabulary vocabulary = with_added_tokens();
  EXPECT_THAT(texts_of(vocabulary, "he<|end|>the <|endd|>the"),
              ElementsAre("he", "<|end|>", "th", "e", " ", "<|end", "d|>the"));
  // What stands before one is the end of a text, where two spaces are one piece.
  EXPECT_THAT(texts_of(vocabulary, "ab<|end|> \n <|end"),
              ElementsAre("a", "b<", "|", "e", "n", "d", "|", ">", " \n", " ", "<|end"));
}

TEST(TokensTest, ATextWithAddedTokensCanBeCutAtItsSafeLength) {
  RandomStream random(7);
  const std::string_view parts[] = {"<|end|>", "<|", "end", "d|>", "the", " ", " \n",
                                    "b",       "<",  "語",  "'",   "r",   "e"};
  const Vocabulary vocabulary = with_added_tokens();
  int64_t cut = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string whole;
    for (auto left = random.below(20); left > 0; --left) {
      whole += parts[random.below(std::size(parts))];
    }
    cut += is_cut_safely(vocabulary, whole, random.below(whole.size() + 1));
  }
  EXPECT_GT(cut, 2000);
}

TEST(TokensTest, PartsOfATextMakeTheVocabularyOfTheWhole) {
  RandomStream random(4);
  std::string text;
  for (int i = 0; i < 80; ++i) text += random_text(random);
  for (const TokenKind kind : kKinds) {
    VocabularyBuilder builder(kind, 300);
    for (std::string_view rest = text; !rest.empty();) {
      const size_t length = std::min<size_t>(random.below(20) + 1, rest.size());
      builder.add(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    EXPECT_EQ(builder.build().value(), learned(kind, 300, text));
  }
}

TEST(TokensTest, ValidationTeachesCharactersAndNothingElse) {
  for (const TokenKind kind : kKinds) {
    VocabularyBuilder builder(kind, 257);
    builder.add("abab");
    builder.end_text();
    builder.add_validation("cdcdcdcd");
    const Vocabulary vocabulary = builder.build().value();
    EXPECT_EQ(vocabulary == learned(kind, 257, "abab"), kind != TokenKind::kCharacters);
  }
}

TEST(TokensTest, AVocabularyThatTheTextDoesNotFillIsAnError) {
  VocabularyBuilder builder(TokenKind::kBpe, 300);
  builder.add("abc");
  EXPECT_EQ(
      builder.build().status().message(),
      "data.vocabulary_size is 300, but the text for training makes only 258 tokens: 256 bytes "
      "and 2 byte pairs; use a longer text or a smaller vocabulary");
}

TEST(TokenizerJsonTest, ComesBackFromItsFile) {
  RandomStream random(5);
  std::string text;
  for (int i = 0; i < 80; ++i) text += random_text(random);
  for (const TokenKind kind : {TokenKind::kBytes, TokenKind::kWords, TokenKind::kBpe}) {
    const Vocabulary vocabulary = learned(kind, 300, text);
    const absl::StatusOr<Vocabulary> read = vocabulary_of_tokenizer(tokenizer_json(vocabulary));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, vocabulary);
    EXPECT_EQ(read->kind(), kind);
  }
  const Vocabulary added = with_added_tokens();
  EXPECT_EQ(vocabulary_of_tokenizer(tokenizer_json(added)).value(), added);
  EXPECT_EQ(tokenizer_json(learned(TokenKind::kCharacters, 0, text)), "");
  const Vocabulary pairs = learned(TokenKind::kBpe, 258, "x the the");
  const std::string json = tokenizer_json(pairs), merges = R"("merges":["h e","t he"])";
  ASSERT_THAT(json, HasSubstr(merges));
  const std::string lists = R"("merges":[["h","e"],["t","he"]])";  // of tokenizers 0.20
  EXPECT_EQ(vocabulary_of_tokenizer(absl::StrReplaceAll(json, {{merges, lists}})).value(), pairs);
}

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
