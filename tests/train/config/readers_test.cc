#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/train/config/parsed.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// Runs that are older than the key have their sinusoids as they are.
TEST(ReadersTest, ASavedConfigThatDoesNotSayHasSinusoidsInFull) {
  const std::string text = "[model]\nposition = \"sinusoidal\"\n";
  EXPECT_EQ(parsed(text).model.sinusoidal_scale, 0.0);  // init_std
  EXPECT_TRUE(parsed(text).model.learn_sinusoidal_scale);
  EXPECT_EQ(parse_saved_config(text, "c.toml")->model.sinusoidal_scale, 1.0);
  EXPECT_FALSE(parse_saved_config(text, "c.toml")->model.learn_sinusoidal_scale);
  const std::string saved = to_toml(parsed(text));
  EXPECT_EQ(parse_saved_config(saved, "c.toml")->model.sinusoidal_scale, 0.0);
}

}  // namespace
}  // namespace qkv
