// The files of the tasks "pairs" and "classes".

#include "data/records/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

using testing::ElementsAre;

class RecordsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    write_bytes(folder_ / name, text);
    return folder_ / name;
  }

  // "question|answer@line" of each, or "!what@line".
  std::vector<std::string> read(const std::string& name, const std::string& text,
                                const RecordLayout& layout = {.question = "question",
                                                              .answer = "answer"}) {
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    size_t at = 0;
    RecordReader reader(name, layout, [&]() -> std::optional<std::string> {
      if (at == lines.size()) return std::nullopt;
      return std::string(lines[at++]);
    });
    std::vector<std::string> seen;
    while (const auto record = reader.next()) {
      seen.push_back(record->ok()
                         ? absl::StrCat((*record)->question, "|", (*record)->answer.value_or("-"))
                         : absl::StrCat("!", record->status().message()));
      absl::StrAppend(&seen.back(), "@", reader.line());
    }
    return seen;
  }

  DataOptions options(const std::string& task, const std::string& text,
                      const std::string& name = "data.tsv") {
    DataOptions options;
    options.task = task;
    options.path = write(name, text);
    options.train_fraction = 0.5;
    return options;
  }

  TemporaryFolder folder_;
};

TEST_F(RecordsTest, StandInTwoColumnsWithATabBetween) {
  EXPECT_THAT(read("a.tsv",
                   "\xEF\xBB\xBF"
                   "one\teins\r\ntwo\tzwei"),
              ElementsAre("one|eins@1", "two|zwei@2"));
  EXPECT_THAT(read("a.txt", "good\tI like it.\n",
                   {.question = "text", .answer = "class", .answer_first = true}),
              ElementsAre("I like it.|good@1"));
  EXPECT_THAT(
      read("a", "one\ntwo\tzwei\n", {.question = "q", .answer = "a", .answer_needed = false}),
      ElementsAre("one|-@1", "two|zwei@2"));
}

TEST_F(RecordsTest, FollowRfc4180InCsv) {
  EXPECT_THAT(read("A.CSV",
                   "id,answer,question\r\n1,\"a, \"\"b\"\"\",x\r\n2, y "
                   ",\"two\r\nlines\"\r\n3,z,\"\"\"\"\r\n"),
              ElementsAre("x|a, \"b\"@2", "two\nlines| y @3", "\"|z@5"));
}

// Lines "qN<TAB>aN" of the numbers.
std::string pairs_of(int first, int last) {
  std::string text;
  for (int i = first; i < last; ++i) absl::StrAppend(&text, "q", i, "\ta", i, "\n");
  return text;
}

// The questions of both parts of a data set.
std::set<std::string> questions(const Dataset& dataset, bool training) {
  std::set<std::string> all;
  const int64_t size = training ? dataset.training_size() : dataset.validation_size();
  const Batch batch =
      training ? dataset.training_batch(0, size) : dataset.validation_batch(0, size);
  for (const Row& row : rows_of(dataset, batch)) {
    EXPECT_TRUE(all.insert(row.inputs.substr(0, row.inputs.find('\t'))).second || training);
  }
  return all;
}

TEST_F(RecordsTest, AreOnOneSideOfTheTwo) {
  // The same question with another answer, and a line that is there twice.
  std::string text = pairs_of(0, 100);
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "q", i, "\tb", i, "\nq", i, "\ta", i, "\n");
  const auto dataset = dataset_of(options("pairs", text));
  std::set<std::string> training = questions(*dataset, true);
  EXPECT_GT(training.size(), 30u);
  std::set<std::string> held_out;
  for (int64_t i = 0; i < dataset->validation_size(); ++i) {
    held_out.insert(dataset->vocabulary().decode(dataset->validation_example(i).prompt));
  }
  EXPECT_EQ(std::ssize(held_out) * 2, dataset->validation_size());  // two answers, each once
  EXPECT_EQ(training.size() + held_out.size(), 100u);
  for (std::string question : held_out) {
    question.pop_back();
    EXPECT_FALSE(training.contains(question)) << question;
  }
}

TEST_F(RecordsTest, ForValidationAreNotThoseOfTraining) {
  DataOptions both = options("pairs", pairs_of(0, 20));
  both.train_fraction = 1;
  both.validation_path = write("held.tsv", pairs_of(20, 30));
  const auto dataset = dataset_of(both);
  EXPECT_EQ(questions(*dataset, true).size(), 20u);
  EXPECT_EQ(questions(*dataset, false).size(), 10u);
}

TEST_F(RecordsTest, HaveAFingerprintThatTheSeedDoesNotChange) {
  const DataOptions pairs = options("pairs", pairs_of(0, 100));
  const std::string own = dataset_of(pairs, 1)->fingerprint();
  EXPECT_EQ(own, dataset_of(pairs, 2)->fingerprint());
  EXPECT_NE(own, dataset_of(options("pairs", pairs_of(1, 101)))->fingerprint());
}

TEST_F(RecordsTest, HaveClassesOfTheirOwn) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text,
                    i % 3 == 0   ? "very good"
                    : i % 3 == 1 ? "bad"
                                 : "so, so",
                    "\ttext ", i, "\n");
  }
  const auto dataset = dataset_of(options("classes", text));
  EXPECT_EQ(dataset->class_names(), (std::vector<std::string>{"bad", "so, so", "very good"}));
  EXPECT_EQ(dataset->shape().classes, 3);
  EXPECT_EQ(dataset->vocabulary().size(), 14);  // the digits, a space, t, e, x
  const Example example = dataset->validation_example(0);
  const std::string number = dataset->vocabulary().decode(example.prompt).substr(5);
  const char* names[] = {"very good", "bad", "so, so"};
  EXPECT_EQ(dataset->answer_text(example.answer), names[std::stoi(number) % 3]);
}

// 200 questions, of which half are for validation.
TEST_F(RecordsTest, ForValidationAreAsManyAsAreAskedFor) {
  std::string pairs, classes, lines;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&pairs, "question ", i, "\tanswer ", i, "\n");
    absl::StrAppend(&classes, i % 2 == 0 ? "a" : "b", "\ttext ", i, "\n");
    absl::StrAppend(&lines, "line ", i, "\n");
  }
  for (const auto& [task, text] :
       {std::pair("pairs", pairs), std::pair("classes", classes), std::pair("lines", lines)}) {
    DataOptions few = options(task, text);
    for (const int64_t asked : {1, 7, 40}) {
      few.validation_examples = asked;
      EXPECT_EQ(dataset_of(few)->validation_size(), asked) << task;
    }
    few.validation_examples = 1000;
    EXPECT_GT(dataset_of(few)->validation_size(), 40) << task;
    EXPECT_EQ(dataset_of(few)->validation_size() + dataset_of(few)->training_size(), 200) << task;
  }
}

}  // namespace
}  // namespace qkv
