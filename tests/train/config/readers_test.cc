#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/tasks/tasks.h"
#include "tests/train/config/parsed.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

// "copy, reverse and sort": the tasks that read a key.
std::string readers_of(const std::string& key) {
  std::vector<std::string> tasks;
  for (const TaskKind& task : task_kinds()) {
    if (std::ranges::count(task.keys, key) != 0) tasks.push_back(task.name);
  }
  const std::string last = tasks.back();
  tasks.pop_back();
  return absl::StrCat(absl::StrJoin(tasks, ", "), " and ", last);
}

TEST(ReadersTest, AValueThatNothingReadsIsAMistakeAtItsKey) {
  EXPECT_EQ(mistakes("[data]\n  digits = 5"),
            "c.toml:2:3: \"data.digits\" is read by addition; set \"data.task\" to one of these");
  EXPECT_EQ(mistakes("[data]\npath = \"a.txt\""),
            "c.toml:2:1: \"data.path\" is read by text, lines, pairs, classes, idx and "
            "image_folder; set \"data.task\" to one of these");
  EXPECT_EQ(mistakes("[data]\ntask = \"addition\"\nmin_length = 3"),
            "c.toml:3:1: \"data.min_length\" is read by " + readers_of("min_length") +
                ", not by addition");
  EXPECT_EQ(mistakes("optimizer.momentum = 0.5"),
            "c.toml:1:11: \"optimizer.momentum\" is read by sgd, not by adamw");
  EXPECT_EQ(mistakes("optimizer = { kind = \"sgd\", betas = [0.5, 0.5] }"),
            "c.toml:1:29: \"optimizer.betas\" is read by adam and adamw, not by sgd");
}

TEST(ReadersTest, WhatAValueReadsIsAField) {
  Config config;
  std::set<std::string> keys;
  for (const Field& field : config_fields(config)) keys.insert(field.key());
  for (const Field& choice : config_fields(config)) {
    for (const KeyReader& reader : choice.choices) {
      for (const std::string& key : reader.keys) {
        const bool has_table = key.find('.') != std::string::npos;
        EXPECT_TRUE(keys.contains(has_table ? key : choice.table + "." + key))
            << reader.name << " reads " << key;
      }
    }
  }
}

TEST(ReadersTest, ATaskWithAnAlphabetOfItsOwnReadsNone) {
  EXPECT_EQ(
      mistakes("[data]\ntask = \"parity\"\nalphabet = 3"),
      "c.toml:3:1: \"data.alphabet\" is read by " + readers_of("alphabet") + ", not by parity");
}

TEST(ReadersTest, AConstantLearningRateRisesAndDoesNotFall) {
  EXPECT_EQ(mistakes("[optimizer]\nschedule = \"constant\"\nwarmup_steps = 5\n"
                     "min_learning_rate = 1e-5"),
            "c.toml:4:1: \"optimizer.min_learning_rate\" is read by linear and cosine, not by "
            "constant");
}

TEST(ReadersTest, AMixerReadsWhatIsSaidOfItself) {
  EXPECT_EQ(mistakes("[model]\nkernel = 5\ndepthwise = true\ncell = \"rnn\""),
            "c.toml:2:1: \"model.kernel\" is read by convolution, not by attention\n"
            "c.toml:3:1: \"model.depthwise\" is read by convolution, not by attention\n"
            "c.toml:4:1: \"model.cell\" is read by recurrence, not by attention");
  EXPECT_EQ(mistakes("[model]\nmixer = \"uniform\"\nnum_heads = 2\nscale_scores = false"),
            "c.toml:3:1: \"model.num_heads\" is read by attention, not by uniform\n"
            "c.toml:4:1: \"model.scale_scores\" is read by attention, not by uniform");
}

TEST(ReadersTest, WithoutHeadsNothingHasToBeDividedAmongThem) {
  EXPECT_EQ(mistakes("[model]\nmixer = \"recurrence\"\nd_model = 6\ncell = \"rnn\""), "");
}

// A file is made for one task or mixer, and --set may choose another; but what is wrong in the file
// itself, or with --set, is said.
TEST(ReadersTest, AnOverrideMayChooseAnotherReaderThanTheFileIsFor) {
  const std::string file = "[data]\ntask = \"addition\"\ndigits = 5\n";
  EXPECT_EQ(mistakes(file, {"data.task=copy"}), "");
  EXPECT_EQ(parsed(file, {"data.task=copy"}).data.digits, DataOptions().digits);
  EXPECT_EQ(mistakes("[data]\ndigits = 5\n", {"data.task=copy"}),
            "c.toml:2:1: \"data.digits\" is read by addition, not by copy");
  EXPECT_EQ(mistakes(file, {"data.task=copy", "data.digits=5"}),
            "--set data.digits=5: \"data.digits\" is read by addition, not by copy");
  EXPECT_EQ(mistakes("", {"data.digits=5"}),
            "--set data.digits=5: \"data.digits\" is read by addition; set \"data.task\" to one of "
            "these");
}

// The config.toml of an older run lists every key.
TEST(ReadersTest, TheDefaultMayBeSaidOfEveryKey) {
  Config defaults;
  std::string text;
  for (const Field& field : config_fields(defaults)) {
    absl::StrAppend(&text, field.key(), " = ", field.to_string(), "\n");
  }
  EXPECT_EQ(mistakes(text), "");
  for (const Field& field : config_fields(defaults)) {
    std::vector<std::string> given;  // whatever makes the choice one
    if (!field.is_read) given = {absl::StrCat(field.decided_by, "=", field.readers.front())};
    for (const KeyReader& reader : field.choices) {
      given.push_back(absl::StrCat(field.key(), "=", reader.name));
      EXPECT_THAT(mistakes(text, given), Not(HasSubstr("is read by"))) << given.back();
      given.pop_back();
    }
  }
  EXPECT_EQ(mistakes("data.digits = 5", {"data.digits=3"}), "");
}

TEST(ReadersTest, WhoReadsItIsNotKnownWhereTheChoiceWasNotUnderstood) {
  EXPECT_THAT(mistakes("[data]\ntask = \"additoin\"\ndigits = 5"), Not(HasSubstr("is read by")));
  EXPECT_EQ(mistakes("[data]\ntsak = \"addition\"\ndigits = 5"),
            "c.toml:2:1: unknown key \"data.tsak\"; did you mean \"task\"?");
}

TEST(ReadersTest, WhatNothingReadsClashesWithNothing) {
  EXPECT_EQ(mistakes("[optimizer]\nschedule = \"constant\"\nmin_learning_rate = 0.5"),
            "c.toml:3:1: \"optimizer.min_learning_rate\" is read by linear and cosine, not by "
            "constant");
  EXPECT_EQ(mistakes("optimizer.momentum = 1e-50"),
            "c.toml:1:11: \"optimizer.momentum\" is read by sgd, not by adamw");
}

// Older runs saved every key with whatever value it had.
TEST(ReadersTest, ASavedConfigMaySayWhatNothingReads) {
  const std::string text = "data.digits = 5\noptimizer.momentum = 1e-50\nseed = 3";
  const absl::StatusOr<Config> saved = parse_saved_config(text, "c.toml");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->seed, 3u);
  EXPECT_EQ(saved->data.digits, Config().data.digits);

  const absl::StatusOr<Config> other = parse_saved_config(text, "c.toml", {"data.task=addition"});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->data.digits, 5);
}

TEST(ReadersTest, WhatIsWrongElseIsWrongInASavedConfig) {
  const auto mistakes_of_saved = [](const std::string& text, const Overrides& overrides) {
    return std::string(parse_saved_config(text, "c.toml", overrides).status().message());
  };
  EXPECT_EQ(mistakes_of_saved("", {"data.modulus=5"}),
            "--set data.modulus=5: \"data.modulus\" is read by modular_addition; set \"data.task\" "
            "to one of these");
  EXPECT_EQ(mistakes_of_saved("zebra = 1", {}), "c.toml:1:1: unknown key \"zebra\"");
}

TEST(ReadersTest, OneChoiceDecidesWhetherAKeyIsRead) {
  Config config;
  std::map<std::string, std::string> decided_by;
  for (const Field& choice : config_fields(config)) {
    for (const KeyReader& reader : choice.choices) {
      for (const std::string& name : reader.keys) {
        const bool in_another_table = name.find('.') != std::string::npos;
        const std::string key = in_another_table ? name : absl::StrCat(choice.table, ".", name);
        EXPECT_EQ(decided_by.emplace(key, choice.name).first->second, choice.name) << key;
      }
    }
  }
}

}  // namespace
}  // namespace qkv
