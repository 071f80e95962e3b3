#include <gtest/gtest.h>

#include "data/task.h"
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

// Every task that has questions, with lengths that vary where they can.
std::vector<std::pair<std::string, Task>> tasks_with_questions(int64_t validation_length = 0) {
  std::vector<std::pair<std::string, Task>> all;
  for (const TaskKind& kind : task_kinds()) {
    const DataOptions options = {
        .task = kind.name, .alphabet = 20, .min_length = 3, .validation_length = validation_length};
    if (kind.questions) all.emplace_back(kind.name, kind.questions(options));
  }
  return all;
}

TEST(FindQuestionTest, EveryQuestionIsFound) {
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    for (const auto& [name, task] : tasks_with_questions(split == Split::kTraining ? 5 : 0)) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        RandomChoices choices{RandomStream(seed)};
        const Example example = task.draw(split, choices);
        const auto found = find_question(task, example.prompt);
        ASSERT_TRUE(found.has_value()) << name << ", seed " << seed;
        EXPECT_EQ(found->prompt, example.prompt) << name;
        EXPECT_EQ(found->answer, example.answer) << name;
      }
    }
  }
}

TEST(FindQuestionTest, AQuestionWithAnotherTokenIsNone) {
  for (const auto& [name, task] : tasks_with_questions()) {
    RandomChoices choices{RandomStream(1)};
    const Example example = task.draw(Split::kTraining, choices);
    const size_t size = example.prompt.size();
    for (const size_t i : {size_t{0}, size / 2, size - 1}) {
      for (int64_t token : {int64_t{0}, std::ssize(task.token_texts) - 1}) {
        std::vector<int64_t> prompt = example.prompt;
        prompt[i] = token;
        const auto found = find_question(task, prompt);
        if (found) {
          EXPECT_EQ(found->prompt, prompt) << name;
        }
      }
    }
    std::vector<int64_t> prompt = example.prompt;
    prompt.insert(prompt.begin(), prompt.back());
    EXPECT_FALSE(find_question(task, prompt)) << name;
    EXPECT_FALSE(find_question(task, {})) << name;
  }
}

// The examples that are made to know whether that is a question.
int64_t examples_made(const DataOptions& options, const std::vector<int64_t>& prompt) {
  Task task = find_task(options.task)->questions(options);
  int64_t made = 0;
  task.draw = [&made, draw = task.draw](Split split, Choices& choices) {
    ++made;
    return draw(split, choices);
  };
  find_question(task, prompt);
  return made;
}

TEST(FindQuestionTest, FewExamplesAreMadeHoweverLongTheQuestionsAre) {
  for (const char* name : {"reverse", "echo", "hold"}) {
    const DataOptions options = {.task = name, .length = 65536, .distance = 65000};
    EXPECT_LE(examples_made(options, {1, 2, 10}), 2) << name;
  }
  EXPECT_LE(examples_made({.task = "addition", .digits = 100}, {1, 2, 11}), 2);
  const std::vector<int64_t> long_prompt(100000, 1);
  EXPECT_EQ(examples_made({.task = "dates"}, long_prompt), 0);
}

TEST(FindQuestionTest, WhatIsNoQuestionHasNoAnswer) {
  EXPECT_EQ(answer({.task = "reverse", .length = 3}, "=12="), "none");
  EXPECT_EQ(answer({.task = "addition"}, "9+9="), "none");
}

}  // namespace
}  // namespace qkv
