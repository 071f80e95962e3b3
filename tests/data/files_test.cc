// Data sets that come from files: running text and lines.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "data/file.h"
#include "framework/core/random.h"
#include "tests/data/rows.h"
#include "tests/read_text.h"

namespace qkv {
namespace {

// A file that lives as long as this object.
class TempFile {
 public:
  explicit TempFile(const std::string& bytes) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "qkv_" + test->name() + ".txt";
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

DataOptions from_file(const std::string& task, const std::string& path) {
  DataOptions options;
  options.task = task;
  options.path = path;
  options.length = 8;
  return options;
}

// Characters of one, two, three and four bytes, of which no two windows are alike.
std::string varied_text(int characters) {
  const std::vector<std::string> alphabet = {"a", "b", "é", "€", "🙂", "\n", " "};
  RandomStream stream(5);
  std::string text;
  for (int i = 0; i < characters; ++i) text += alphabet[stream.below(alphabet.size())];
  return text;
}

std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (const char byte : text) {
    if ((byte & 0xC0) == 0x80) {
      characters.back() += byte;
    } else {
      characters.emplace_back(1, byte);
    }
  }
  return characters;
}

TEST(ReadTextTest, ByteOrderMarksAreLeftOutAndEachOfThreeLineEndsIsOne) {
  const TempFile file("\xEF\xBB\xBFone\r\ntwo\r\n\rx");
  EXPECT_EQ(*read_text(file.path()), "one\ntwo\n\nx");
}

TEST(FingerprintTest, TellsTextsApartAndNothingElse) {
  const auto fingerprint = [](const std::string& text, const DataOptions& changes) {
    const TempFile file(text);
    DataOptions options = changes;
    options.path = file.path();
    return dataset_of(options)->fingerprint();
  };
  for (const char* task : {"text", "lines"}) {
    SCOPED_TRACE(task);
    DataOptions options = from_file(task, "");
    const std::string text = varied_text(500);
    const std::string own = fingerprint(text, options);
    EXPECT_EQ(own, fingerprint_of(text));
    EXPECT_NE(own, fingerprint(text + "a", options));
    options.length = 16;
    options.train_fraction = 0.5;
    EXPECT_EQ(own, fingerprint(text, options));
    EXPECT_EQ(own, fingerprint("\xEF\xBB\xBF" + text, options));
  }
  EXPECT_EQ(dataset_of(DataOptions())->fingerprint(), "");
}

TEST(TextTest, TheVocabularyIsEveryCharacterInTheOrderOfCodePoints) {
  const TempFile file(varied_text(400));
  const auto dataset = dataset_of(from_file("text", file.path()));
  EXPECT_EQ(dataset->vocabulary().texts(),
            (std::vector<std::string>{"\n", " ", "a", "b", "é", "€", "🙂"}));
  EXPECT_FALSE(dataset->has_answers());
  EXPECT_EQ(dataset->shape().max_length, 8);
}

TEST(TextTest, ValidationTargetsAreEveryCharacterOfTheLastPartButItsFirst) {
  for (const int size : {400, 403, 410, 481}) {
    const std::string text = varied_text(size);
    const TempFile file(text);
    const auto dataset = dataset_of(from_file("text", file.path()));
    const auto characters = characters_of(text);
    const auto begin = static_cast<size_t>(size * 9 / 10);

    const Batch batch = dataset->validation_batch(0, dataset->validation_size());
    EXPECT_EQ(batch.targets.shape()[1], 8);
    size_t place = begin;
    for (const Row& row : rows_of(*dataset, batch)) {
      const auto inputs = characters_of(row.inputs);
      for (size_t t = 0; t < 8; ++t) {
        if (place + 1 < characters.size()) {
          EXPECT_EQ(inputs[t], characters[place]);
          EXPECT_EQ(row.wanted[t], characters[++place]);
        } else {
          EXPECT_EQ(row.wanted[t], "");  // the padding of the last window
        }
      }
    }
    EXPECT_EQ(place, characters.size() - 1) << size;
  }
}

TEST(TextTest, TrainingWindowsLieInTheFirstPartAndReachBothItsEnds) {
  const std::string text = varied_text(100);
  const TempFile file(text);
  const auto dataset = dataset_of(from_file("text", file.path()));
  const auto characters = characters_of(text);
  std::map<std::string, size_t> places;  // of the windows and their last target
  for (size_t place = 0; place + 9 <= characters.size(); ++place) {
    std::string window;
    for (size_t i = 0; i < 9; ++i) window += characters[place + i];
    ASSERT_TRUE(places.emplace(window, place).second);
  }
  std::set<size_t> seen;
  for (int64_t index = 0; index < 100; ++index) {
    for (const Row& row : rows_of(*dataset, dataset->training_batch(index, 16))) {
      const auto inputs = characters_of(row.inputs);
      for (size_t t = 0; t + 1 < 8; ++t) EXPECT_EQ(row.wanted[t], inputs[t + 1]);
      seen.insert(places.at(row.inputs + row.wanted.back()));
    }
  }
  EXPECT_EQ(seen.size(), 82u);  // 90 characters hold 82 windows of 8 and a target
  EXPECT_EQ(*seen.begin(), 0u);
  EXPECT_EQ(*seen.rbegin(), 81u);
}

TEST(TextTest, AValidationExampleIsHalfAWindowAndTheOtherHalf) {
  const TempFile file("0123456789" + std::string("abcdefghij") + "klmnopqrst");
  DataOptions options = from_file("text", file.path());
  options.length = 6;
  options.train_fraction = 0.7;  // leaves "lmnopqrst"
  const auto dataset = dataset_of(options);
  ASSERT_EQ(dataset->validation_size(), 2);
  const Example first = dataset->validation_example(0);
  EXPECT_EQ(dataset->vocabulary().decode(first.prompt), "lmn");
  EXPECT_EQ(dataset->vocabulary().decode(first.answer), "opqr");
  const Example last = dataset->validation_example(1);
  EXPECT_EQ(dataset->vocabulary().decode(last.prompt), "r");
  EXPECT_EQ(dataset->vocabulary().decode(last.answer), "st");
}

TEST(LinesTest, EveryLineBeginsAfterANewlineAndHasToEndWithOne) {
  std::string text;
  for (int i = 100; i < 400; ++i) text += "é" + std::to_string(i * i) + "\r\n";
  const TempFile file(text);
  const auto dataset = dataset_of(from_file("lines", file.path()));
  EXPECT_EQ(dataset->shape().max_length, 8);  // "\n", "é" and six digits
  EXPECT_FALSE(dataset->has_answers());
  size_t padded = 0;
  for (const Row& row : rows_of(*dataset, dataset->training_batch(0, 64))) {
    const auto inputs = characters_of(row.inputs);
    ASSERT_EQ(inputs.size(), 8u);
    EXPECT_EQ(inputs[0], "\n");
    EXPECT_EQ(inputs[1], "é");
    bool ended = false;
    for (size_t t = 0; t < 8; ++t) {
      EXPECT_EQ(row.wanted[t].empty(), ended);
      if (ended) {
        EXPECT_EQ(inputs[t], "\n");  // padding
      } else if (t + 1 < 8) {
        EXPECT_EQ(row.wanted[t], inputs[t + 1]);
      }
      ended = ended || row.wanted[t] == "\n";
    }
    EXPECT_TRUE(ended);
    if (row.wanted.back().empty()) ++padded;
  }
  EXPECT_GT(padded, 0u);
}

TEST(LinesTest, EveryDifferentLineIsOnExactlyOneSide) {
  std::string text;
  std::set<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    const std::string line = std::to_string(i % 150 * 7919);  // each line twice
    lines.insert(line);
    text += line + "\n\n \t\n";
  }
  const TempFile file(text);
  const auto dataset = dataset_of(from_file("lines", file.path()));
  std::set<std::string> held_out;
  for (int64_t i = 0; i < dataset->validation_size(); ++i) {
    const Example example = dataset->validation_example(i);
    EXPECT_EQ(dataset->vocabulary().decode(example.prompt), "\n");
    const std::string line = dataset->vocabulary().decode(example.answer);
    EXPECT_TRUE(held_out.insert(line.substr(0, line.size() - 1)).second);
  }
  EXPECT_EQ(dataset->training_size() + 2 * dataset->validation_size(), 300);
  for (const Row& row : rows_of(*dataset, dataset->training_batch(0, 1000))) {
    const size_t end = row.inputs.find('\n', 1);
    const std::string line = row.inputs.substr(1, end == std::string::npos ? end : end - 1);
    EXPECT_FALSE(held_out.contains(line));
    EXPECT_TRUE(lines.contains(line));
  }

  DataOptions options = from_file("lines", file.path());
  options.validation_examples = 3;
  EXPECT_EQ(dataset_of(options)->validation_size(), 3);
}

}  // namespace
}  // namespace qkv
