// Texts of several files, larger than memory, and kept in the cache.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "data/text/text_tokens.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "tests/data/rows.h"
#include "tests/read_text.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr TextLimits kOnDisk = {.in_memory = 0, .piece_bytes = 5};

std::string text_of_many_lengths(int characters) {
  const std::vector<std::string> alphabet = {"a", "b", "é", "€", "🙂", "\n", " ", "the ", "\r\n"};
  RandomStream stream(5);
  std::string text;
  for (int i = 0; i < characters; ++i) text += alphabet[stream.below(alphabet.size())];
  return text;
}

std::vector<int64_t> all_of(const TokenStore& store) {
  std::vector<int64_t> tokens(static_cast<size_t>(store.size()));
  store.read(0, tokens);
  return tokens;
}

class TextFilesTest : public testing::Test {
 protected:
  TextFilesTest() {
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    options_.task = "text";
    options_.path = folder_ / "text.txt";
    options_.length = 8;
  }
  ~TextFilesTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  // A file that is so old that no other could have the same times.
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }

  ReadText read(const TextLimits& limits = kOnDisk) {
    pieces_ = 0;
    const Wait wait = {.tell = [this](const std::string&, double) { ++pieces_; }, .stop = {}};
    absl::StatusOr<ReadText> text = read_text_tokens(options_, wait, limits);
    if (!text.ok()) fail(std::string(text.status().message()));
    return *std::move(text);
  }
  std::vector<std::string> in_cache() const {
    std::vector<std::string> paths;
    if (!std::filesystem::exists(folder_ / "cache/qkv")) return paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/qkv")) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  TemporaryFolder folder_;
  DataOptions options_;
  int pieces_ = 0;  // that were read
};

// What a text becomes is told by the vocabulary of its parts, however it is read.
TEST_F(TextFilesTest, PiecesOfAnySizeMakeTheTokensOfTheWholeText) {
  write("text.txt", "\xEF\xBB\xBF" + text_of_many_lengths(6000));
  for (const TokenKind kind :
       {TokenKind::kCharacters, TokenKind::kBytes, TokenKind::kWords, TokenKind::kBpe}) {
    SCOPED_TRACE(name_of(kind));
    const std::string text = kind == TokenKind::kBytes ? contents_of(options_.path)  // all of them
                                                       : *read_text(options_.path);
    const auto cut = static_cast<int64_t>(static_cast<double>(characters_in(text)) * 0.9);
    size_t bytes = 0;
    for (int64_t left = cut; left >= 0; ++bytes) left -= (text[bytes] & 0xC0) != 0x80;
    const std::string_view training = std::string_view(text).substr(0, --bytes);
    options_.tokens = kind;
    options_.vocabulary_size = kind == TokenKind::kBpe ? 300 : 20;
    VocabularyBuilder builder(kind, options_.vocabulary_size);
    builder.add(training);
    builder.end_text();
    builder.add_validation(std::string_view(text).substr(bytes));
    const Vocabulary vocabulary = *builder.build();
    std::vector<int64_t> expected;
    ASSERT_TRUE(vocabulary.encode(training, expected).ok());
    const auto trained = std::ssize(expected);
    ASSERT_TRUE(vocabulary.encode(std::string_view(text).substr(bytes), expected).ok());
    for (const size_t piece : {1, 2, 3, 5, 4096, 1 << 20}) {
      for (const int64_t in_memory : {int64_t{0}, kLargestInMemory}) {
        const ReadText read_now = read({.in_memory = in_memory, .piece_bytes = piece});
        EXPECT_EQ(all_of(read_now.text.tokens), expected) << piece;
        EXPECT_EQ(read_now.text.training_tokens, trained);
        EXPECT_EQ(read_now.text.fingerprint, fingerprint_of(text));
        EXPECT_EQ(read_now.text.vocabulary, vocabulary);
        for (const std::string& path : in_cache()) std::filesystem::remove(path);
      }
    }
  }
}

TEST_F(TextFilesTest, TokensOfEverySizeAreReadFromEveryPlace) {
  for (const int64_t vocabulary_size : {256, 257, 65536, 65537}) {
    TokenWriter writer(vocabulary_size, std::nullopt);
    std::vector<int64_t> tokens;
    for (int64_t i = 0; i < 9000; ++i) tokens.push_back(i * 7919 % vocabulary_size);
    tokens[4000] = vocabulary_size - 1;
    ASSERT_TRUE(writer.add(std::span(tokens).first(4999)).ok());
    ASSERT_TRUE(writer.add(std::span(tokens).subspan(4999)).ok());
    ASSERT_TRUE(writer.finish().ok());
    const TokenStore store = std::move(writer).store("");
    EXPECT_EQ(all_of(store), tokens);
    for (int64_t place = 0; place < 8900; place += 89) {
      std::vector<int64_t> window(100);
      store.read(place, window);
      EXPECT_TRUE(std::equal(window.begin(), window.end(), tokens.begin() + place)) << place;
    }
  }
}

TEST_F(TextFilesTest, TheSecondReadingFindsTheTokensInTheCache) {
  write("text.txt", text_of_many_lengths(3000));
  for (const TokenKind kind : {TokenKind::kCharacters, TokenKind::kBpe}) {
    options_.tokens = kind;
    options_.vocabulary_size = 280;
    const ReadText first = read();
    EXPECT_GT(pieces_, 0);
    const ReadText second = read();
    EXPECT_EQ(pieces_, 0);
    EXPECT_EQ(all_of(first.text.tokens), all_of(second.text.tokens));
    EXPECT_EQ(first.text.vocabulary, second.text.vocabulary);
    EXPECT_EQ(first.text.fingerprint, second.text.fingerprint);
    EXPECT_EQ(first.text.training_tokens, second.text.training_tokens);
  }
  EXPECT_EQ(in_cache().size(), 1u);
  read({.in_memory = 1 << 20, .piece_bytes = 100});  // a small text needs none
  EXPECT_GT(pieces_, 0);
}

TEST_F(TextFilesTest, WhatHasChangedIsReadAnew) {
  write("text.txt", text_of_many_lengths(3000));
  read();
  write("text.txt", "x" + text_of_many_lengths(3000).substr(1));
  EXPECT_THAT(read().text.vocabulary.texts(), testing::Contains("x"));
  EXPECT_GT(pieces_, 0);
  options_.train_fraction = 0.5;
  read();
  EXPECT_GT(pieces_, 0);
  EXPECT_EQ(in_cache().size(), 1u) << "the newer one takes the place of the older";
}

TEST_F(TextFilesTest, ADamagedEndOfTheCacheIsMadeAgain) {
  write("text.txt", text_of_many_lengths(3000));
  const std::vector<int64_t> tokens = all_of(read().text.tokens);
  const std::string path = in_cache().front(), good = contents_of(path);
  for (const size_t from_end : {1, 10, 20, 30, 60}) {
    std::string bad = good;
    bad[bad.size() - from_end] ^= 1;
    write_bytes(path, bad);
    EXPECT_EQ(all_of(read().text.tokens), tokens);
    EXPECT_GT(pieces_, 0) << from_end;
  }
  for (const size_t size : {size_t{0}, size_t{7}, good.size() / 2, good.size() - 1}) {
    write_bytes(path, good.substr(0, size));
    EXPECT_EQ(all_of(read().text.tokens), tokens);
  }
  write_bytes(path, good.substr(TokenStore::kBlockBytes));
  EXPECT_EQ(all_of(read().text.tokens), tokens);
}

TEST_F(TextFilesTest, NoDamagedTokenIsEverRead) {
  write("text.txt", text_of_many_lengths(9000));
  read();
  const std::string path = in_cache().front();
  std::string bytes = contents_of(path);
  bytes[5000] ^= 1;  // in the second block
  write_bytes(path, bytes);
  const ReadText damaged = read();
  EXPECT_EQ(pieces_, 0);
  std::vector<int64_t> window(100);
  damaged.text.tokens.read(0, window);
  try {
    damaged.text.tokens.read(4050, window);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              path +
                  ": these tokens of the text are damaged, so the file was removed; the next "
                  "start makes it again");
  }
  EXPECT_TRUE(in_cache().empty());
}

TEST_F(TextFilesTest, AStopLeavesNothing) {
  write("text.txt", text_of_many_lengths(3000));
  std::stop_source stop;
  int pieces = 0;
  const Wait wait = {.tell =
                         [&](const std::string&, double) {
                           if (++pieces == 1500) stop.request_stop();
                         },
                     .stop = stop.get_token()};
  const auto read = read_text_tokens(options_, wait, kOnDisk);
  EXPECT_TRUE(absl::IsCancelled(read.status())) << read.status();
  EXPECT_EQ(pieces, 1500);
  EXPECT_TRUE(in_cache().empty());
}

TEST_F(TextFilesTest, HowMuchIsReadIsToldUpToTheWhole) {
  write("text.txt", text_of_many_lengths(3000));
  for (const TokenKind tokens : {TokenKind::kCharacters, TokenKind::kBpe}) {
    options_.tokens = tokens;
    options_.vocabulary_size = 300;  // of pairs
    double last = 0;
    const Wait wait = {.tell =
                           [&](const std::string&, double share) {
                             EXPECT_GE(share, last);
                             last = share;
                           },
                       .stop = {}};
    EXPECT_TRUE(read_text_tokens(options_, wait, kOnDisk).ok());
    EXPECT_NEAR(last, 1, 1e-3);
  }
}

TEST_F(TextFilesTest, TwoReadingsAtOnceDoNotDisturbEachOther) {
  write("text.txt", text_of_many_lengths(3000));
  const std::vector<int64_t> expected = all_of(read(TextLimits()).text.tokens);
  std::vector<std::thread> threads;
  std::vector<std::vector<int64_t>> tokens(4);
  for (auto& found : tokens) {
    threads.emplace_back(
        [&] { found = all_of(read_text_tokens(options_, {}, kOnDisk)->text.tokens); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& found : tokens) EXPECT_EQ(found, expected);
  EXPECT_EQ(in_cache().size(), 1u);
}

TEST_F(TextFilesTest, ALineEndsWithItsFile) {
  std::string numbers;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&numbers, "line ", i * i, "\n");
  write("lines/a.txt", numbers + "the end of a");
  write("lines/b.txt", numbers + "\n\nthe end of b");
  options_.task = "lines";
  options_.path = folder_ / "lines";
  options_.train_fraction = 1;
  options_.validation_path = folder_ / "held.txt";
  write("held.txt", "held\n");
  const auto dataset = make_dataset(options_, 1);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->training_size(), 122);
  const Batch all = (*dataset)->training_batch(0, 122);
  EXPECT_EQ(rows_of(**dataset, all)[60].inputs, "\nthe end of a");
  options_.path = join_paths({folder_ / "lines/b.txt", folder_ / "lines/a.txt"});
  EXPECT_NE((*make_dataset(options_, 1))->fingerprint(), (*dataset)->fingerprint());
  write("c.txt", "the end of c");
  options_.path = join_paths({folder_ / "lines/b.txt", folder_ / "lines/a.txt", folder_ / "c.txt"});
  EXPECT_EQ((*make_dataset(options_, 1))->training_size(), 123);
  write("held.txt", "held\nthe end of b");
  EXPECT_EQ(std::string(make_dataset(options_, 1).status().message()),
            absl::StrCat(folder_ / "held.txt:2: this line stands in ", folder_ / "lines/b.txt",
                         ":63, too; leave it out of one of the two files"));
}

TEST_F(TextFilesTest, ValidationHasAFileOfItsOwn) {
  write("text.txt", std::string(50, 'a') + "b");
  write("validation.txt", "cdefghijklm");
  options_.train_fraction = 1;
  options_.validation_path = folder_ / "validation.txt";
  const auto dataset = make_dataset(options_, 1);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->vocabulary().size(), 13);
  EXPECT_EQ((*dataset)->validation_size(), 2);
  const std::vector<Row> rows = rows_of(**dataset, (*dataset)->validation_batch(0, 2));
  EXPECT_EQ(rows[0].inputs, "cdefghij");
  EXPECT_THAT(rows[0].wanted, ElementsAre("d", "e", "f", "g", "h", "i", "j", "k"));
  EXPECT_THAT(rows[1].wanted, ElementsAre("l", "m", "", "", "", "", "", ""));
  for (const Row& row : rows_of(**dataset, (*dataset)->training_batch(0, 64))) {
    EXPECT_THAT(row.inputs, testing::MatchesRegex("a*b?"));
  }
  write("validation.txt", "cdef");
  EXPECT_THAT(std::string(make_dataset(options_, 1).status().message()),
              HasSubstr("validation.txt: is too short: 4 tokens are for validation, but a window "
                        "of data.length = 8"));
}

}  // namespace
}  // namespace qkv
