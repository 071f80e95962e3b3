#include <gtest/gtest.h>

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

TEST(DataOptionsTest, OnlyTheKeysThatATaskReadsCount) {
  DataOptions options = with_task("modular_addition");
  options.alphabet = 1;
  options.length = 0;
  options.validation_examples = 0;
  EXPECT_EQ(mistakes(options), "");
  options.modulus = 1;
  EXPECT_EQ(mistakes(options), "modulus must be 2 … 1000, not 1\n");
}

}  // namespace
}  // namespace qkv
