#include <gtest/gtest.h>

#include "data/tasks/tasks.h"

namespace qkv {
namespace {

std::string answer(const DataOptions& options, const std::string& prompt) {
  const auto dataset = make_dataset(options, 1).value();
  const Vocabulary& vocabulary = dataset->vocabulary();
  const auto found = dataset->answer_to(vocabulary.encode(prompt).value());
  return found ? vocabulary.decode(*found) : "none";
}

TEST(FindQuestionTest, KnowsTheAnswerOfAnyQuestion) {
  EXPECT_EQ(answer({.task = "reverse"}, "0123456789012345="), "5432109876543210");
  EXPECT_EQ(answer({.task = "sort"}, "3141592653589793="), "1123334555678999");
  EXPECT_EQ(answer({.task = "addition"}, "999+001="), "0001");
  EXPECT_EQ(answer({.task = "dates"}, "3 March 1987="), "1987-03-03");
  EXPECT_EQ(answer({.task = "modular_addition", .modulus = 97}, "90 + 12 ="), "5");
}

TEST(FindQuestionTest, KnowsThoseOfOtherLengthsThatTheTaskHas) {
  const DataOptions options = {.task = "copy", .length = 6, .min_length = 2};
  EXPECT_EQ(answer(options, "314="), "314");
  EXPECT_EQ(answer(options, "3="), "none");
}

TEST(FindQuestionTest, EveryValidationExampleIsFound) {
  for (const std::string& name : task_names()) {
    const TaskKind& task = *find_task(name);
    const DataOptions options = {.task = name, .alphabet = 20, .train_fraction = 0.5};
    const bool reads_a_file = std::ranges::count(task.keys, "path") > 0;
    if (reads_a_file || task.forms.front() == DataForm::kClass) continue;
    const auto dataset = make_dataset(options, 1).value();
    const Example example = dataset->validation_example(0);
    const auto found = dataset->answer_to(example.prompt);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(*found, example.answer) << name;
  }
}

TEST(FindQuestionTest, WhatIsNoQuestionHasNoAnswer) {
  EXPECT_EQ(answer({.task = "reverse", .length = 3}, "=12="), "none");
  EXPECT_EQ(answer({.task = "addition"}, "9+9="), "none");
}

}  // namespace
}  // namespace qkv
