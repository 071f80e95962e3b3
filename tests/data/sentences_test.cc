// The tasks whose questions are written as people write: what tells the answer.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "tests/data/rows.h"

namespace qkv {
namespace {

// Many questions of training, and all of validation.
std::map<std::string, std::string> questions_and_answers(const Dataset& dataset) {
  std::map<std::string, std::string> all;
  const auto add = [&](const std::string& text, const std::vector<std::string>& wanted) {
    std::string answer;
    for (const std::string& token : wanted) answer += token;
    all[text.substr(0, text.find('='))] = answer;
  };
  for (const Row& row : rows_of(dataset, dataset.training_batch(0, 32768))) {
    add(row.inputs, row.wanted);
  }
  for (int64_t i = 0; i < dataset.validation_size(); ++i) {
    const Example example = dataset.validation_example(i);
    add(dataset.vocabulary().decode(example.prompt), {dataset.vocabulary().decode(example.answer)});
  }
  return all;
}

DataOptions sentences(const std::string& task, int64_t validation_examples = 100000) {
  DataOptions options;
  options.task = task;
  options.validation_examples = validation_examples;
  return options;
}

TEST(DatesTest, AreWrittenInEveryWayWithTwoDigitsForAYearFrom1950To2049) {
  const auto answers = questions_and_answers(*dataset_of(sentences("dates", 1000)));
  std::set<std::string> forms;
  std::set<std::string> years;  // of which the last two digits are given
  for (const auto& [question, answer] : answers) {
    std::string form;  // "9 a 9"
    for (const char c : question) {
      const char kind = absl::ascii_isdigit(c) ? '9' : absl::ascii_isalpha(c) ? 'a' : c;
      if (form.empty() || kind != form.back()) form += kind;
    }
    const bool two_digits = !absl::ascii_isdigit(question[question.size() - 3]);
    forms.insert(form + (two_digits ? "9" : "999"));
    if (two_digits) years.insert(answer.substr(0, 4));
  }
  EXPECT_EQ(forms, (std::set<std::string>{"9 a 9999", "a 9, 9999", "9-a-9999", "9-a-99", "9/9/9999",
                                          "9/9/99", "9.9.9999", "9.9.99"}));
  EXPECT_EQ(years.size(), 100u);
  EXPECT_EQ(*years.begin(), "1950");
  EXPECT_EQ(*years.rbegin(), "2049");
}

TEST(PreferenceTest, WhereEitherMayComeFirstNothingButOneWordTells) {
  const auto answers = questions_and_answers(*dataset_of(sentences("preference")));
  EXPECT_EQ(answers.size(), 13440u);
  const std::string more = "更";
  int64_t pairs = 0;
  for (const auto& [question, answer] : answers) {
    const size_t place = question.find(more);
    EXPECT_EQ(question.find(more, place + 1), question.npos) << question;
    if (question.starts_with("比起")) continue;
    // The same with the word in the other half.
    std::string other = question;
    other.erase(place, more.size());
    const std::string who = other.starts_with("我")   ? "我"
                            : other.starts_with("你") ? "你"
                            : other.starts_with("他") ? "他"
                                                      : "她";
    const bool was_first = place < question.find(',');
    other.insert((was_first ? other.rfind(who) : 0) + who.size(), more);
    ASSERT_TRUE(answers.contains(other)) << other;
    EXPECT_NE(answers.at(other), answer) << other;
    ++pairs;
  }
  EXPECT_EQ(pairs, 11520);
  EXPECT_EQ(answers.at("我喜欢踢足球,但我更喜欢打篮球"), "篮");
}

TEST(ReferenceTest, AnotherPossessiveMeansTheOtherNoun) {
  const auto answers = questions_and_answers(*dataset_of(sentences("reference")));
  EXPECT_EQ(answers.size(), 31104u);
  const std::string begin = "the law will never be perfect for the judges , but ";
  EXPECT_EQ(answers.at(begin + "its application should be just "), "law");
  EXPECT_EQ(answers.at(begin + "their application should be just "), "judges");
  EXPECT_FALSE(answers.contains(begin + "his application should be just "));
}

// The task `hold`, whose sequences ask many times.

// A row of `hold`: each symbol is asked for at the next =. Returns how far before that it stands.
std::set<int64_t> distances_of(const Dataset& dataset, const Row& row) {
  const std::vector<std::string> inputs = words_of(dataset, row.inputs);
  EXPECT_EQ(inputs.back(), "=");
  std::set<int64_t> distances;
  std::string symbol;
  int64_t distance = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    ++distance;
    EXPECT_EQ(row.wanted[t], inputs[t] == "=" ? symbol : "") << row.inputs << " at " << t;
    if (inputs[t] == "=") distances.insert(distance);
    if (inputs[t] == "." || inputs[t] == "=") continue;
    symbol = inputs[t];
    distance = 0;
  }
  return distances;
}

TEST(HoldTest, EverySymbolIsAskedForAtTheNextSign) {
  DataOptions options;
  options.task = "hold";
  options.length = 40;
  options.distance = 12;
  options.alphabet = 26;
  options.validation_examples = 20;
  const auto dataset = dataset_of(options);
  for (const Row& row : rows_of(*dataset, dataset->validation_batch(0, 20))) {
    EXPECT_EQ(distances_of(*dataset, row), std::set<int64_t>{12});
  }
  std::set<int64_t> in_training;
  for (const Row& row : rows_of(*dataset, dataset->training_batch(0, 50))) {
    in_training.merge(distances_of(*dataset, row));
  }
  EXPECT_EQ(in_training.size(), 12u);
  EXPECT_EQ(*in_training.begin(), 1);
  EXPECT_EQ(*in_training.rbegin(), 12);
}

}  // namespace
}  // namespace qkv
