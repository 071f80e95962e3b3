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
using testing::HasSubstr;

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

  // An error without the folder.
  std::string error(const DataOptions& options) {
    std::string text = error_of(options);
    const std::string folder = folder_.path() + "/";
    for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
    return text;
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

TEST_F(RecordsTest, AreWrongAtTheLineWhereTheyBegin) {
  EXPECT_THAT(read("a.csv", "question,answer\na\"b,c\n\"a\"b,c\na,b,c\na\n,b\na,b\n\"a\n\n"),
              ElementsAre("!a quote stands in the unquoted field 1@2",
                          "!only a comma may follow the closing quote of field 1@3",
                          "!has 3 fields, but the header has 2@4",
                          "!has 1 field, but the header has 2@5", "!the question is empty@6",
                          "a|b@7", "!the file ends inside of the quoted field 1@8"));
  EXPECT_THAT(read("a.csv", "question,answers\na,b\n"),
              ElementsAre("!the header has to name the column \"answer\" once; its columns are "
                          "\"question\", \"answers\"; another one is read with --set "
                          "data.answer_key=NAME@1"));
  EXPECT_THAT(read("a.csv", "answer,question,answer\na,b,c\n"),
              ElementsAre(HasSubstr("name the column \"answer\" once")));
}

TEST_F(RecordsTest, AreObjectsWithTwoKeysInJsonLines) {
  EXPECT_THAT(
      read("a.jsonl",
           "{\"answer\": \"b\\n\", \"more\": 1, \"question\": \"\\u4e00\"}\n[]\n{\n"
           "{\"question\": \"a\"}\n{\"question\": \"a\", \"answer\": 5.5}\n"),
      ElementsAre("一|b\n@1", "!is JSON, but not an object@2",
                  "!is not JSON: at line 1, column 2: unexpected end of input; expected string "
                  "literal@3",
                  "!has no key \"answer\"; its keys are \"question\"; another one is read "
                  "with --set data.answer_key=NAME@4",
                  "!\"answer\" is neither a string nor an integer@5"));
  EXPECT_THAT(read("a.jsonl",
                   "{\"question\": \"a\", \"answer\": -5}\n"
                   "{\"question\": \"a\", \"answer\": \"b\", \"question\": \"c\"}\n"
                   "{\"question\": {\"question\": 1}, \"answer\": \"b\"}\n"),
              ElementsAre("a|-5@1", "!has the key \"question\" twice@2",
                          "!\"question\" is neither a string nor an integer@3"));
}

TEST_F(RecordsTest, WithMistakesAreAllNamedAtOnce) {
  EXPECT_EQ(error(options("pairs", "a\tb\nc\nd\t \n\n\xff\tx\ne\tf\tg\n\th\n")),
            "data.tsv:2: has no tab: a line is question<TAB>answer\n"
            "data.tsv:3: the answer is empty\n"
            "data.tsv:4: is blank\n"
            "data.tsv:5: is not UTF-8: byte 0xFF at offset 0; iconv can convert it, for example "
            "from Latin-1: iconv -f latin1 -t utf-8\n"
            "data.tsv:6: has 2 tabs: a line is question<TAB>answer\n"
            "data.tsv:7: the question is empty");
  std::string many;
  for (int i = 0; i < 25; ++i) many += "x\n";
  EXPECT_THAT(error(options("pairs", many)), HasSubstr("data.tsv:20: has no tab"));
  EXPECT_THAT(error(options("pairs", many)), HasSubstr("\n… and 5 more like these"));
  EXPECT_EQ(error(options("pairs", "")), "data.tsv: has no example");
  EXPECT_EQ(error(options("pairs", "{\"question\":\"a\\tb\",\"answer\":\"c\"}\n", "a.jsonl")),
            "a.jsonl:1: a question or an answer holds a tab or a line end");
  EXPECT_EQ(
      error(options("pairs", "a\tb\n")),
      "data.tsv: has too few examples: of its 1 different ones none is for validation; use more "
      "examples, data.validation_path, or a train_fraction other than 0.5");
  EXPECT_THAT(error(options("pairs", "a\tb\na\tc\na\td\n")), HasSubstr("of its 1 different ones"));
  EXPECT_EQ(
      error(options("pairs", "{\"question\":\"a\"}\n", "data.json")),
      "data.json:1: has no tab: a line is question<TAB>answer; a file of JSON lines has a name "
      "that ends in .jsonl");
}

TEST_F(RecordsTest, LongerThanTheContextAreNamed) {
  DataOptions pairs = options("pairs", "abc\tde\nabcd\te\nabcde\tf\nabcdefg\th\n");
  pairs.context = 6;  // abc\tde, before its line end
  EXPECT_EQ(error(pairs),
            "data.tsv:3: the pair has 7 tokens; the model reads at most 6 (data.context)\n"
            "data.tsv:4: the pair has 9 tokens; the model reads at most 6 (data.context)");
  DataOptions classes = options("classes", "x\tabc\nx\tabcd\ny\tabcde\ny\tab\n");
  classes.context = 4;
  EXPECT_THAT(error(classes),
              HasSubstr("data.tsv:3: the question has 5 tokens; the model reads at most 4"));
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
  both.validation_path = write("held.tsv", pairs_of(18, 30));
  EXPECT_EQ(error(both),
            "held.tsv:1: this question stands in data.tsv:19, too; leave it out of one of the two "
            "files\nheld.tsv:2: this question stands in data.tsv:20, too; leave it out of one of "
            "the two files");
}

TEST_F(RecordsTest, HaveAFingerprintThatTheSeedDoesNotChange) {
  const DataOptions pairs = options("pairs", pairs_of(0, 100));
  const std::string own = dataset_of(pairs, 1)->fingerprint();
  EXPECT_EQ(own, dataset_of(pairs, 2)->fingerprint());
  EXPECT_NE(own, dataset_of(options("pairs", pairs_of(1, 101)))->fingerprint());
}

TEST_F(RecordsTest, HaveTheLossOnTheAnswer) {
  const auto dataset = dataset_of(options("pairs", pairs_of(0, 100)));
  for (const Row& row : rows_of(*dataset, dataset->validation_batch(0, 5))) {
    std::string wanted;
    for (const std::string& text : row.wanted) wanted += text;
    const std::string question = row.inputs.substr(1, row.inputs.find('\t') - 1);
    EXPECT_EQ(wanted, absl::StrCat("a", question, "\n"));
  }
}

TEST_F(RecordsTest, HaveClassesThatDifferByMoreThanWhiteSpace) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "b ", "\ttext ", i, "\n");
  }
  EXPECT_THAT(error(options("classes", text)),
              HasSubstr("the class \"b \" differs from \"b\" by white space alone"));
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

TEST_F(RecordsTest, WithAClassThatCannotBeLearnedAreNamed) {
  std::string text;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, i % 2 == 0 ? "a" : "b", "\ttext ", i, "\n");
  for (int i = 0; i < 20; ++i) {  // a hash of the text chooses the side
    EXPECT_EQ(error(options("classes", absl::StrCat(text, "c\tother ", i, "\n"))),
              "data.tsv:41: the class \"c\" is seen once, here: it needs more examples");
  }
  EXPECT_EQ(error(options("classes", "a\tb\na\tc\na\td\na\te\na\tf\n")),
            "data.tsv: has 1 class; it needs 2 … 1000");
  DataOptions both = options("classes", text);
  both.validation_path = write("held.tsv", "a\tnew text\nc\tother text\n");
  EXPECT_EQ(error(both),
            "held.tsv:2: the class \"c\" has 1 example for validation, first here, but none "
            "for training");
  DataOptions twice = options("classes", text + "c\ttext\n");
  twice.validation_path = write("held.tsv", "a\tnew text\nc\tother text\n");
  EXPECT_EQ(error(twice),
            "data.tsv:41: the class \"c\" is seen once, here: it needs more examples");
}

TEST_F(RecordsTest, AFileForValidationIsJudgedWholeByTextAndLines) {
  DataOptions text = options("text", "abcabcabcabc", "text.txt");
  text.length = 3;
  text.train_fraction = 1;
  text.validation_path = write("held.txt", "xyzxyzx");
  const auto windows = dataset_of(text);
  EXPECT_EQ(windows->vocabulary().decode(std::vector<int64_t>{0, 1, 2, 3, 4, 5}), "abcxyz");
  EXPECT_EQ(windows->validation_size(), 2);
  for (const Row& row : rows_of(*windows, windows->training_batch(0, 20))) {
    EXPECT_EQ(row.inputs.find_first_of("xyz"), std::string::npos);
  }
  DataOptions lines = options("lines", "one\ntwo\n", "lines.txt");
  lines.train_fraction = 1;
  lines.validation_path = write("held.txt", "three\nthree\n");
  const auto whole = dataset_of(lines);
  EXPECT_EQ(whole->training_size(), 2);
  EXPECT_EQ(whole->validation_size(), 1);
  lines.validation_path = write("held.txt", "three\n\ntwo\n");
  EXPECT_EQ(
      error(lines),
      "held.txt:3: this line stands in lines.txt:2, too; leave it out of one of the two files");
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

TEST_F(RecordsTest, HoldNoLineEnd) {
  for (const std::string row : {"\"one\ntwo\",drei", "one,\"zwei\ndrei\"", "\"a\tb\",c"}) {
    std::string text = "question,answer\n";
    for (int i = 0; i < 40; ++i) absl::StrAppend(&text, "question ", i, ",answer\n");
    EXPECT_THAT(error(options("pairs", text + row + "\n", "data.csv")),
                HasSubstr("data.csv:42: a question or an answer holds a tab or a line end"));
  }
  std::string text = "text,class\n";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, "text ", i, i % 2 == 0 ? ",a\n" : ",b\n");
  for (int i = 0; i < 9; ++i) absl::StrAppend(&text, "more ", i, ",\"a\nb\"\n");
  EXPECT_THAT(error(options("classes", text, "data.csv")),
              HasSubstr("data.csv:42: the class holds a tab or a line end"));
}

}  // namespace
}  // namespace qkv
