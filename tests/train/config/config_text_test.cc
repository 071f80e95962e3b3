// A config as text: TOML, the help, the changes between two.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
#include "tests/train/config/parsed.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConfigTextTest, SaysWhereEachValueCameFrom) {
  const absl::StatusOr<LoadedConfig> loaded =
      parse_config("name = \"tiny\"\n[model]\nd_ff = 8\nd_model =\\\n 8", "c.toml", {});
  EXPECT_FALSE(loaded.ok());
  const absl::StatusOr<LoadedConfig> good = parse_config(
      "name = \"tiny\"\n[model]\nd_ff = 8\nd_model = 8", "c.toml", {"model.d_model=16"});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->origins,
            (std::map<std::string, std::string>{
                {"name", "c.toml:1"}, {"model.d_ff", "c.toml:3"}, {"model.d_model", "--set"}}));

  const std::string text = to_toml_with_origins(*good);
  const std::vector<std::string> found = absl::StrSplit(text, '\n');
  EXPECT_EQ(found[0], "name = \"tiny\"                    # c.toml:1");
  EXPECT_EQ(found[1], "seed = 1                         # default");
  EXPECT_EQ(found[2], "");
  EXPECT_EQ(found[3], "[data]");
  EXPECT_NE(text.find("\nd_ff = 8                         # c.toml:3\n"), std::string::npos);
  EXPECT_NE(text.find("\nd_model = 16                     # --set\n"), std::string::npos);
  EXPECT_EQ(config_changes(parsed(text), good->config), Overrides{});
}

TEST(ConfigTextTest, OriginsAreCommentsWhateverTheFileIsCalled) {
  const absl::StatusOr<LoadedConfig> loaded =
      parse_config("seed = 2", "a\n[b]\x1b\xff\xc2\x9b.toml");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(parsed(to_toml_with_origins(*loaded)).seed, 2u);
}

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

TEST(ConfigTextTest, OnlyWhatIsReadIsListed) {
  Config config;
  config.data.task = "addition";
  config.data.length = 9;
  config.optimizer.kind = OptimizerKind::kSgd;
  config.optimizer.schedule = Schedule::kConstant;
  const std::string text = to_toml(config);
  EXPECT_THAT(text, HasSubstr("\n[data]\ntask = \"addition\"\ndigits = 3\ntrain_fraction = 0.9\n"));
  EXPECT_THAT(text, HasSubstr("\nmomentum = 0.0\n"));
  EXPECT_THAT(text, HasSubstr("\nwarmup_steps = 0\n"));
  for (const char* unread :
       {"path", "alphabet", "length", "betas", "epsilon", "min_learning_rate"}) {
    EXPECT_THAT(text, Not(HasSubstr(absl::StrCat("\n", unread, " =")))) << unread;
  }
  EXPECT_EQ(parsed(text).data.length, Config().data.length);
  EXPECT_THAT(to_toml_with_origins({.config = config, .origins = {}}),
              Not(HasSubstr("\nlength =")));
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

TEST(ConfigTextTest, ChangesAreListedByKey) {
  Config now, before;
  now.train.steps = 500;
  now.data.task = "copy";
  EXPECT_EQ(config_changes(now, before), (Overrides{"data.task is \"copy\", but was \"reverse\"",
                                                    "train.steps is 500, but was 1000"}));
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
  EXPECT_THAT(one_line(config_help()), HasSubstr(" Read by linear and cosine."));
  for (const absl::string_view line : absl::StrSplit(config_help(), '\n')) {
    EXPECT_LE(text_width({line.data(), line.size()}), 80) << line;
  }
}

}  // namespace
}  // namespace qkv
