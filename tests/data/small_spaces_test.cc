// Where there are few questions in all, both sides still have theirs, or the user is told.

#include <gtest/gtest.h>

#include <set>

#include "data/task.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

TEST(EveryChoiceTest, RunsThroughAllDecisionsOnceEvenWhereOneDependsOnAnother) {
  EveryChoice every;
  std::vector<std::string> seen;
  do {
    std::string text;
    const int64_t length = every.between(1, 2);
    for (int64_t i = 0; i < length; ++i) text += static_cast<char>('a' + every.below(3));
    seen.push_back(text);
  } while (every.next());
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "aa", "ab", "ac", "ba", "bb", "bc", "ca",
                                            "cb", "cc"}));
}

TEST(EveryChoiceTest, WithNothingToDecideThereIsOneWay) {
  EveryChoice every;
  EXPECT_EQ(every.least_left(), 0);
  EXPECT_FALSE(every.next());
}

TEST(EveryChoiceTest, TellsHowManyAreLeftAtLeast) {
  EveryChoice every;
  std::vector<int64_t> left;
  do {
    for (int64_t i = 0; i < 2; ++i) every.below(3);
    left.push_back(every.least_left());
  } while (every.next());
  EXPECT_EQ(left, (std::vector<int64_t>{4, 3, 2, 3, 2, 1, 2, 1, 0}));
}

// To count questions of 65,536 symbols one by one takes a minute.
TEST(SmallSpaceTest, FewLongQuestionsTellThatTheSpaceIsNotSmall) {
  constexpr int64_t kLength = 65536;
  int64_t asked = 0;
  const Task task = {.token_texts = {"0", "1"},
                     .training = {.prompt = kLength, .answer = 1, .both = kLength + 1},
                     .validation = {.prompt = kLength, .answer = 1, .both = kLength + 1},
                     .draw = [&asked](Split, Choices& choices) {
                       ++asked;
                       Example example;
                       example.answer = {0};
                       for (int64_t i = 0; i < kLength; ++i) {
                         example.prompt.push_back(choices.below(2));
                       }
                       return example;
                     }};
  DataOptions options;
  options.validation_examples = 1;
  options.train_fraction = 0.5;
  const auto dataset =
      make_task_dataset(options, task, /*validates_on_all=*/false, 1, DataForm::kSequence);
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ((*dataset)->validation_size(), 1);
  EXPECT_LT(asked, 50);
}

DataOptions sort_of_three_symbols() {
  DataOptions options;
  options.task = "sort";
  options.alphabet = 3;
  options.length = 6;
  return options;
}

TEST(SmallSpaceTest, EveryQuestionIsOnExactlyOneSide) {
  const auto dataset = dataset_of(sort_of_three_symbols());
  std::set<std::vector<int64_t>> questions;
  for (int64_t i = 0; i < dataset->validation_size(); ++i) {
    questions.insert(dataset->validation_example(i).prompt);
  }
  EXPECT_EQ(questions.size(), static_cast<size_t>(dataset->validation_size()));
  EXPECT_EQ(dataset->validation_size() + dataset->training_size(), 729);
  EXPECT_NEAR(static_cast<double>(dataset->training_size()), 0.9 * 729, 30);
}

TEST(SmallSpaceTest, ABatchAsLargeAsTheTrainingPartIsTheTrainingPart) {
  DataOptions options = sort_of_three_symbols();
  for (const size_t length : {6, 8}) {  // all of the questions are kept in memory, or few are
    options.length = static_cast<int64_t>(length);
    const auto dataset = dataset_of(options);
    const Batch batch = dataset->training_batch(3, 9000);
    EXPECT_EQ(batch.inputs[0].shape(), (Shape{dataset->training_size(), 2 * options.length}));
    std::set<std::string> questions;
    for (const Row& row : rows_of(*dataset, batch)) {
      questions.insert(row.inputs.substr(0, length + 1));
    }
    EXPECT_EQ(static_cast<int64_t>(questions.size()), dataset->training_size());
    EXPECT_TRUE(same(batch, dataset->training_batch(4, dataset->training_size())));
    EXPECT_EQ(dataset->training_batch(3, dataset->training_size() - 1).rows(),
              dataset->training_size() - 1);
  }
}

TEST(SmallSpaceTest, ValidationTakesNoMoreThanAskedForAndNotTheFirstInOrder) {
  DataOptions options = sort_of_three_symbols();
  options.length = 8;
  options.validation_examples = 100;
  const auto dataset = dataset_of(options);
  EXPECT_EQ(dataset->validation_size(), 100);
  std::set<int64_t> first_symbols;
  for (int64_t i = 0; i < 100; ++i) {
    first_symbols.insert(dataset->validation_example(i).prompt.front());
  }
  EXPECT_EQ(first_symbols.size(), 3u);
}

TEST(SmallSpaceTest, ModularAdditionValidatesOnAllPairsThatTrainingDoesNotSee) {
  DataOptions options;
  options.task = "modular_addition";
  options.modulus = 307;  // more pairs than a small space has
  options.train_fraction = 0.3;
  options.validation_examples = 10;  // of no account here
  const auto dataset = dataset_of(options);
  EXPECT_NEAR(static_cast<double>(dataset->validation_size()), 0.7 * 307 * 307, 600);

  options.modulus = 97;
  const auto small = dataset_of(options);
  EXPECT_EQ(small->training_size() + small->validation_size(), 97 * 97);
}

TEST(SmallSpaceTest, ASpaceJustTooLargeToListStillFillsItsValidation) {
  DataOptions options;
  options.task = "copy";
  options.alphabet = 2;
  options.length = 17;  // 131,072 questions, about 1,300 of them held out
  options.train_fraction = 0.99;
  options.validation_examples = 1000;
  EXPECT_EQ(dataset_of(options)->validation_size(), 1000);
  options.validation_examples = 100000;  // more than there are: all of them
  const auto dataset = dataset_of(options);
  EXPECT_NEAR(static_cast<double>(dataset->validation_size()), 1311, 150);
}

TEST(MakeDatasetTest, AskingForExamplesThatAreNotThereThrows) {
  const TemporaryFolder folder;
  const std::string path = folder / "data.tsv";
  write_bytes(path, "one\t1\ntwo\t2\nthree\t3\nfour\t4\n");
  DataOptions shapes, pairs;
  shapes.task = "shapes";
  pairs.task = "pairs", pairs.path = path, pairs.train_fraction = 0.5;
  for (const DataOptions& options : {sort_of_three_symbols(), shapes, pairs}) {
    const auto dataset = dataset_of(options);
    EXPECT_THROW(dataset->training_batch(-1, 4), Error);
    EXPECT_THROW(dataset->training_batch(0, 0), Error);
    EXPECT_THROW(dataset->validation_batch(dataset->validation_size() - 1, 2), Error);
    EXPECT_THROW(dataset->validation_batch(0, 0), Error);
    EXPECT_THROW(dataset->validation_example(-1), Error);
    EXPECT_THROW(dataset->validation_example(dataset->validation_size()), Error);
  }
}

}  // namespace
}  // namespace qkv
