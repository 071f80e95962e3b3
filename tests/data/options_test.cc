#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/data_options.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

std::string mistakes(const DataOptions& options) {
  std::string text;
  for (const OptionMistake& mistake : find_mistakes(options)) {
    text += mistake.key + " " + mistake.message + "\n";
  }
  return text;
}

DataOptions with_task(const std::string& task) {
  DataOptions options;
  options.task = task;
  options.path = "a file";
  options.alphabet = 16;
  return options;
}

TEST(DataOptionsTest, TheDefaultsAreGoodForEveryTask) {
  for (const std::string& task : task_names()) EXPECT_EQ(mistakes(with_task(task)), "") << task;
}

TEST(DataOptionsTest, AnUnknownTaskIsAnsweredWithTheTasksThereAre) {
  EXPECT_EQ(mistakes(with_task("revers")),
            absl::StrCat("task must be one of ", absl::StrJoin(task_names(), ", "),
                         ", not \"revers\"\n"));
}

TEST(DataOptionsTest, AllMistakesAreFoundAtOnce) {
  DataOptions options = with_task("reverse");
  options.alphabet = 1;
  options.length = 0;
  options.train_fraction = std::numeric_limits<double>::quiet_NaN();
  options.validation_examples = -5;
  EXPECT_EQ(mistakes(options),
            "length must be 1 … 65536, not 0\n"
            "alphabet must be 2 … 62, not 1\n"
            "train_fraction must be 0.01 … 0.99, not nan\n"
            "validation_examples must be 1 … 100000, not -5\n");
}

TEST(DataOptionsTest, OnlyTheKeysThatATaskReadsCount) {
  DataOptions options = with_task("modular_addition");
  options.alphabet = 1;
  options.length = 0;
  options.validation_examples = 0;
  EXPECT_EQ(mistakes(options), "");
  options.modulus = 1;
  EXPECT_EQ(mistakes(options), "modulus must be 2 … 1000, not 1\n");
}

TEST(DataOptionsTest, TheShortestQuestionIsNotLongerThanTheLongest) {
  DataOptions options = with_task("parity");
  options.min_length = 17;
  EXPECT_EQ(mistakes(options), "min_length must be 1 … 16, not 17\n");
  options.min_length = -1;
  EXPECT_EQ(mistakes(options), "min_length must be 1 … 16, not -1\n");
}

TEST(DataOptionsTest, SymbolsThatMustDifferNeedAnAlphabetThatHasEnough) {
  DataOptions options = with_task("induction");
  options.alphabet = 15;
  EXPECT_EQ(mistakes(options),
            "alphabet must be at least the longest segment, 16, because its symbols are all "
            "different, not 15\n");
  options = with_task("associative_recall");
  options.pairs = 17;
  EXPECT_EQ(mistakes(options),
            "pairs must be at most the alphabet, 16, because the keys are all different, not 17\n");
}

TEST(DataOptionsTest, TasksOnFilesNeedAFile) {
  DataOptions options = with_task("text");
  options.path = "";
  EXPECT_EQ(mistakes(options),
            "path is missing: the task \"text\" reads a file; give one with --set "
            "data.path=FILE\n");
}

}  // namespace
}  // namespace qkv
