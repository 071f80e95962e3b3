// A config as text: TOML, the help, the changes between two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
#include "tests/train/config/parsed.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

using testing::HasSubstr;

TEST(ConfigTextTest, TomlGivesTheSameConfigBack) {
  Config config;
  config.name = "a \"b\" \\ é";
  config.seed = 9223372036854775807u;
  config.data.task = "text";
  config.data.path = "tab\t line\n return\r bell\a del\x7f quote\" 'x' \\u0041 ☃";
  config.model.dropout = 0.1 + 0.2;
  config.model.bias = false;
  config.optimizer.learning_rate = std::nextafter(3e-4, 1.0);
  config.optimizer.epsilon = std::numeric_limits<double>::denorm_min();
  config.optimizer.weight_decay = std::numeric_limits<double>::max();
  config.optimizer.grad_clip = 1e22;
  config.optimizer.betas = {1.0 / 3, std::nextafter(1.0, 0.0)};
  config.train.steps = 9223372036854775807;
  config.train.precision = Precision::kF64;  // the other ones cannot hold these numbers
  const Config again = parsed(to_toml(config));
  EXPECT_EQ(config_changes(again, config), Overrides{});
  EXPECT_EQ(again.data.path, config.data.path);
  EXPECT_EQ(again.optimizer.learning_rate, config.optimizer.learning_rate);
  EXPECT_EQ(again.optimizer.epsilon, config.optimizer.epsilon);
  EXPECT_EQ(again.optimizer.weight_decay, config.optimizer.weight_decay);
  EXPECT_EQ(again.optimizer.betas, config.optimizer.betas);
  EXPECT_EQ(to_toml(again), to_toml(config));
}

TEST(ConfigTextTest, WhatIsNotReadIsNoChange) {
  Config now, before;
  now.data.digits = 5;
  now.optimizer.momentum = 0.5;
  EXPECT_EQ(config_changes(now, before), Overrides{});
  before.data.task = "addition";
  EXPECT_EQ(config_changes(now, before),
            (Overrides{"data.task is \"reverse\", but was \"addition\""}));
}

// Without the breaks between the lines of a comment.
std::string one_line(const std::string& help) {
  return std::regex_replace(help, std::regex("\n +# "), " ");
}

TEST(ConfigTextTest, TheHelpIsAConfigOfTheDefaults) {
  EXPECT_EQ(config_changes(parsed(config_help()), Config()), Overrides{});
  EXPECT_THAT(
      config_help(),
      HasSubstr("\ndropout = 0.0                    # Dropout probability: the fraction of\n"
                "                                 # activations that training sets to zero. Must\n"
                "                                 # be at least 0 and below 1.\n"))
      << config_help();
  EXPECT_THAT(one_line(config_help()),
              HasSubstr("One of: none, sinusoidal, learned, rotary, alibi, relative."));
  EXPECT_THAT(one_line(config_help()), HasSubstr("Must be at least 1. Read by addition."));
  EXPECT_THAT(one_line(config_help()), HasSubstr(" Read by linear, cosine and stable."));
  for (const absl::string_view line : absl::StrSplit(config_help(), '\n')) {
    EXPECT_LE(text_width({line.data(), line.size()}), 80) << line;
  }
}

// Converts to whatever a member of an options struct may be.
struct AnyMember {
  template <class T>
  operator T() const;
};

// How many members a plain struct has: how many values it can be made of.
template <class T, class... Members>
constexpr size_t count_members() {
  if constexpr (requires { T{Members()..., AnyMember()}; }) {
    return count_members<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

TEST(ConfigFieldsTest, NoOptionIsForgotten) {
  Config config;
  const auto count = [&config](const std::string& table) {
    size_t fields = 0;
    for (const Field& field : config_fields(config)) fields += field.table == table;
    return fields;
  };
  EXPECT_EQ(count(""), count_members<Config>() - 4);  // without the tables
  EXPECT_EQ(count("data"), count_members<DataOptions>());
  EXPECT_EQ(count("model"), count_members<ModelOptions>() - 1);  // without the table of attention
  EXPECT_EQ(count("attention"), count_members<AttentionChoices>());
  EXPECT_EQ(count("optimizer"), count_members<OptimizerOptions>());
  EXPECT_EQ(count("train"), count_members<TrainOptions>());
}

TEST(ConfigFieldsTest, NoTwoFieldsShareAKeyOrAPlace) {
  Config config;
  std::set<std::string> keys;
  std::set<FieldValue> values;
  const std::vector<Field> fields = config_fields(config);
  for (const Field& field : fields) {
    keys.insert(field.key());
    values.insert(field.value);
  }
  EXPECT_EQ(keys.size(), fields.size());
  EXPECT_EQ(values.size(), fields.size());
}

TEST(ConfigFieldsTest, EveryFieldIsDescribedInASentence) {
  Config config;
  for (const Field& field : config_fields(config)) {
    ASSERT_FALSE(field.description.empty()) << field.key();
    EXPECT_EQ(field.description.back(), '.') << field.key();
  }
}

TEST(ConfigFieldsTest, FloatsAreShortAndStayFloats) {
  EXPECT_EQ(float_to_toml(0.001), "0.001");
  EXPECT_EQ(float_to_toml(3), "3.0");
  EXPECT_EQ(float_to_toml(-0.0), "-0.0");
  EXPECT_EQ(float_to_toml(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(float_to_toml(1e-8), "1e-08");
  EXPECT_EQ(float_to_toml(1e300), "1e+300");
}

}  // namespace
}  // namespace qkv
