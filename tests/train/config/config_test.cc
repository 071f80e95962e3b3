#include "train/config/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

using Overrides = std::vector<std::string>;

Config parsed(const std::string& text, const Overrides& overrides = {}) {
  const absl::StatusOr<LoadedConfig> loaded = parse_config(text, "c.toml", overrides);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? loaded->config : Config();
}

// All mistakes, a line each.
std::string mistakes(const std::string& text, const Overrides& overrides = {}) {
  const absl::StatusOr<LoadedConfig> loaded = parse_config(text, "c.toml", overrides);
  return loaded.ok() ? "" : std::string(loaded.status().message());
}

TEST(ConfigTest, AnEmptyFileIsTheDefaults) {
  EXPECT_EQ(config_changes(parsed(""), Config()), Overrides{});
}

TEST(ConfigTest, ReadsEveryKindOfValue) {
  const Config config = parsed(R"(
name = "tiny"
seed = 9_223_372_036_854_775_807
[data]
task = "text"
path = "some/file.txt"
[model]
num_layers = 3
tie_embeddings = false
[optimizer]
betas = [0.5, 0.25]
learning_rate = 1e-4
)");
  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.seed, 9223372036854775807u);
  EXPECT_EQ(config.data.task, "text");
  EXPECT_EQ(config.data.path, "some/file.txt");
  EXPECT_EQ(config.model.num_layers, 3);
  EXPECT_FALSE(config.model.tie_embeddings);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.5, 0.25}));
  EXPECT_EQ(config.optimizer.learning_rate, 1e-4);
}

TEST(ConfigTest, DottedKeysInlineTablesAndAByteOrderMarkAreTomlToo) {
  EXPECT_EQ(parsed("model.d_ff = 32").model.d_ff, 32);
  EXPECT_EQ(parsed("model = { d_ff = 33 }").model.d_ff, 33);
  EXPECT_EQ(parsed("\xef\xbb\xbf[model]\r\nd_ff = 34\r\n").model.d_ff, 34);
}

TEST(ConfigTest, AnIntegerIsAFloatWhereOneIsExpected) {
  const Config config = parsed("[optimizer]\ngrad_clip = 2\nbetas = [0, 0.5]");
  EXPECT_EQ(config.optimizer.grad_clip, 2.0);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.0, 0.5}));
}

TEST(ConfigTest, AnUnknownKeyIsPlacedAndTheNearestIsSuggested) {
  EXPECT_EQ(mistakes("[model]\n  num_head = 4"),
            "c.toml:2:3: unknown key \"model.num_head\"; did you mean \"num_heads\"?");
  EXPECT_EQ(mistakes("[optimizer]\nlr = 1"),
            "c.toml:2:1: unknown key \"optimizer.lr\"; did you mean \"learning_rate\"?");
  EXPECT_EQ(mistakes("[model]\nheads = 4"),
            "c.toml:2:1: unknown key \"model.heads\"; did you mean \"num_heads\"?");
  EXPECT_EQ(mistakes("[model]\nD-Model = 4"),
            "c.toml:2:1: unknown key \"model.D-Model\"; did you mean \"d_model\"?");
  EXPECT_EQ(mistakes("[model]\nzebra = 4"), "c.toml:2:1: unknown key \"model.zebra\"");
}

TEST(ConfigTest, AKeyInTheWrongTableIsSentToTheRightOne) {
  EXPECT_EQ(mistakes("num_head = 4"),
            "c.toml:1:1: unknown key \"num_head\"; did you mean [model] num_heads?");
  EXPECT_EQ(mistakes("[train]\nlearning_rate = 4"),
            "c.toml:2:1: unknown key \"train.learning_rate\"; did you mean [optimizer] "
            "learning_rate?");
  EXPECT_EQ(mistakes("[model]\nseed = 4"),
            "c.toml:2:1: unknown key \"model.seed\"; did you mean \"seed\" above all tables?");
}

TEST(ConfigTest, AnUnknownTableIsOneMistake) {
  EXPECT_EQ(mistakes("[modle]\nd_model = 8\nnum_layers = 2"),
            "c.toml:1:2: unknown table \"modle\"; did you mean [model]?");
  EXPECT_EQ(mistakes("[zebra]\nx = 8"),
            "c.toml:1:2: unknown table \"zebra\"; the tables are \"data\", \"model\", "
            "\"optimizer\" or \"train\"");
  EXPECT_EQ(mistakes("model = 3"), "c.toml:1:1: \"model\": expected a table, found an integer");
  EXPECT_EQ(mistakes("[[model]]\nd_model = 3"),
            "c.toml:1:3: \"model\": expected a table, found an array of 1");
  EXPECT_EQ(mistakes("[model.d_model]\nx = 3"),
            "c.toml:1:1: \"model.d_model\": expected an integer, found a table");
}

TEST(ConfigTest, AWrongTypeIsNamed) {
  EXPECT_EQ(mistakes("[model]\nd_model = \"64\""),
            "c.toml:2:11: \"model.d_model\": expected an integer, found a string");
  EXPECT_EQ(mistakes("[train]\nsteps = 1e3"),
            "c.toml:2:9: \"train.steps\": expected an integer, found a float; write 1000");
  EXPECT_EQ(mistakes("[train]\nsteps = 1.5"),
            "c.toml:2:9: \"train.steps\": expected an integer, found a float");
  EXPECT_EQ(mistakes("[train]\nsteps = inf"),
            "c.toml:2:9: \"train.steps\": expected an integer, found a float");
  EXPECT_EQ(mistakes("seed = true"), "c.toml:1:8: \"seed\": expected an integer, found a boolean");
  EXPECT_EQ(mistakes("name = 1979-05-27"),
            "c.toml:1:8: \"name\": expected a string, found a date or time");
  EXPECT_EQ(mistakes("[model]\nbias = 1"),
            "c.toml:2:8: \"model.bias\": expected a boolean (true or false), found an integer");
  EXPECT_EQ(mistakes("[model]\ndropout = \"0\""),
            "c.toml:2:11: \"model.dropout\": expected a float, found a string");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = 0.9"),
            "c.toml:2:9: \"optimizer.betas\": expected an array of 2 floats, found a float");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = [0.9]"),
            "c.toml:2:9: \"optimizer.betas\": expected an array of 2 floats, found an array of 1");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = [0.9, true]"),
            "c.toml:2:15: \"optimizer.betas\": expected a float, found a boolean");
}

TEST(ConfigTest, AValueOutOfRangeIsToldTheRange) {
  EXPECT_EQ(mistakes("[data]\nlength = 0"),
            "c.toml:2:10: \"data.length\" must be at least 1, not 0");
  EXPECT_EQ(mistakes("[optimizer]\nlearning_rate = -0.001"),
            "c.toml:2:17: \"optimizer.learning_rate\" must be at least 0, not -0.001");
  EXPECT_EQ(mistakes("[model]\ndropout = 1"),
            "c.toml:2:11: \"model.dropout\" must be at least 0 and below 1, not 1.0");
  EXPECT_EQ(mistakes("[data]\ntrain_fraction = 0.0"),
            "c.toml:2:18: \"data.train_fraction\" must be above 0 and below 1, not 0.0");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = [0.9, 1.0]"),
            "c.toml:2:15: \"optimizer.betas\" must be at least 0 and below 1, not 1.0");
  EXPECT_EQ(mistakes("seed = -1"), "c.toml:1:8: \"seed\" must be at least 0, not -1");
  EXPECT_EQ(mistakes("[model]\nnum_heads = 0"),
            "c.toml:2:13: \"model.num_heads\" must be at least 1 and at most 65536, not 0");
}

TEST(ConfigTest, NothingIsInfiniteOrNotANumber) {
  EXPECT_EQ(mistakes("[optimizer]\nlearning_rate = inf"),
            "c.toml:2:17: \"optimizer.learning_rate\" must be finite, not inf");
  EXPECT_EQ(mistakes("[optimizer]\nweight_decay = nan"),
            "c.toml:2:16: \"optimizer.weight_decay\" must be finite, not nan");
}

TEST(ConfigTest, ANumberThatF32MakesAnotherOneIsAMistake) {
  EXPECT_EQ(mistakes("[optimizer]\nepsilon = 1e-50"),
            "c.toml:2:11: \"optimizer.epsilon\" is 1e-50, which f32 rounds to 0; use a larger one, "
            "or train.precision = \"f64\"");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = [0.9, 0.99999999]"),
            "c.toml:2:9: \"optimizer.betas\" is 0.99999999, which f32 rounds to 1; use a smaller "
            "one, or train.precision = \"f64\"");
  EXPECT_EQ(mistakes("train.precision = \"bf16\"", {"optimizer.weight_decay=1e300"}),
            "--set optimizer.weight_decay=1e300: \"optimizer.weight_decay\" is 1e+300, which f32 "
            "rounds to infinity; use a smaller one, or train.precision = \"f64\"");
  for (const std::string key :
       {"model.dropout", "optimizer.learning_rate", "optimizer.epsilon", "optimizer.momentum",
        "optimizer.weight_decay", "optimizer.grad_clip", "train.label_smoothing"}) {
    EXPECT_NE(mistakes(key + " = 1e-50"), "") << key;
    EXPECT_EQ(mistakes(key + " = 1e-50\ntrain.precision = \"f64\""), "") << key;
    EXPECT_EQ(mistakes(key + " = 1e-40"), "") << key;
  }
  EXPECT_EQ(
      mistakes("[optimizer]\nepsilon = 1e-50\n[train]\nprecision = \"f16\""),
      "c.toml:4:13: \"train.precision\": unknown value \"f16\"; did you mean \"bf16\"? It can "
      "be \"f32\", \"f64\" or \"bf16\"")
      << "the precision that is meant is not known";
}

TEST(ConfigTest, AnUnknownValueIsToldTheKnownOnes) {
  EXPECT_EQ(mistakes("[model]\nnorm_kind = \"rsm\""),
            "c.toml:2:13: \"model.norm_kind\": unknown value \"rsm\"; did you mean \"rms\"? It can "
            "be \"layer\" or \"rms\"");
  EXPECT_EQ(mistakes("[model]\nposition = \"zebra\""),
            "c.toml:2:12: \"model.position\": unknown value \"zebra\"; it can be \"none\", "
            "\"sinusoidal\" or \"learned\"");
}

TEST(ConfigTest, SettingsThatClashAreReportedAtTheCulprit) {
  EXPECT_EQ(mistakes("[model]\nnum_heads = 3"),
            "c.toml:2:13: \"model.num_heads\" must divide \"model.d_model\": 64 is not a multiple "
            "of 3");
  EXPECT_EQ(mistakes("[model]\nd_model = 66"),
            "c.toml:2:11: \"model.num_heads\" must divide \"model.d_model\": 66 is not a multiple "
            "of 4");
  EXPECT_EQ(mistakes("[model]\nnum_heads = 4\nd_model = 8", {"model.d_model=6"}),
            "--set model.d_model=6: \"model.num_heads\" must divide \"model.d_model\": 6 is not a "
            "multiple of 4");
  EXPECT_EQ(mistakes("[optimizer]\nwarmup_steps = 20\n[train]\nsteps = 10"),
            "c.toml:2:16: \"optimizer.warmup_steps\" is 20, above \"train.steps\", which is 10");
  EXPECT_EQ(mistakes("[optimizer]\nmin_learning_rate = 0.5"),
            "c.toml:2:21: \"optimizer.min_learning_rate\" is 0.5, above "
            "\"optimizer.learning_rate\", which is 0.001");
  EXPECT_EQ(mistakes("[train]\naccumulation_steps = 3"),
            "c.toml:2:22: \"train.accumulation_steps\" must divide \"train.batch_size\": 64 is not "
            "a multiple of 3");
  EXPECT_EQ(mistakes("[data]\nmin_length = 17"),
            "c.toml:2:14: \"data.min_length\" must be 1 … 16, not 17");
}

TEST(ConfigTest, ATextNeedsAPathAndOnlyAText) {
  EXPECT_EQ(mistakes("[data]\ntask = \"text\""),
            "c.toml:2:8: \"data.path\" is missing: the task \"text\" reads a file; give one with "
            "--set data.path=FILE");
  EXPECT_EQ(parsed("[data]\ntask = \"text\"", {"data.path=a.txt"}).data.path, "a.txt");
  EXPECT_EQ(mistakes("[data]\npath = \"a.txt\""),
            "c.toml:2:8: \"data.path\" is only for the tasks \"text\" and \"lines\", not "
            "\"reverse\"");
  EXPECT_EQ(mistakes("[data]\ntask = \"lines\"\npath = \"a\\u0000b\""),
            "c.toml:3:8: \"data.path\" holds a character that no path can hold");
}

TEST(ConfigTest, TheNameCanNameAFolder) {
  for (const char* name : {"reverse", "été", "a b", "run-2.1"}) {
    EXPECT_EQ(parsed(absl::StrCat("name = \"", name, "\"")).name, name);
  }
  const auto mistake = [](const std::string& name) { return mistakes("name = \"" + name + "\""); };
  const std::string start = "c.toml:1:8: \"name\" cannot name a folder: it ";
  EXPECT_EQ(mistake(""), start + "is empty");
  EXPECT_EQ(mistake("a/b"), start + "holds a /");
  EXPECT_EQ(mistake(".."), start + "begins with a .");
  EXPECT_EQ(mistake("-x"), start + "begins with a -");
  EXPECT_EQ(mistake("a\\nb"), start + "holds a control character");
  EXPECT_EQ(mistake("a\\u0085b"), start + "holds a control character");
  EXPECT_EQ(mistake(std::string(101, 'x')), start + "is longer than 100 bytes");
}

TEST(ConfigTest, AllMistakesComeAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(mistakes("seed = -1\n"
                     "[train]\n"
                     "stesp = 5\n"
                     "batch_size = \"many\"\n"
                     "[model]\n"
                     "dropout = 2.0\n"
                     "d_model = 30\n"
                     "num_heads = 4\n",
                     {"train.threads=-1", "zebra=1"}),
            R"(c.toml:1:8: "seed" must be at least 0, not -1
c.toml:3:1: unknown key "train.stesp"; did you mean "steps"?
c.toml:4:14: "train.batch_size": expected an integer, found a string
c.toml:6:11: "model.dropout" must be at least 0 and below 1, not 2.0
c.toml:8:13: "model.num_heads" must divide "model.d_model": 30 is not a multiple of 4
--set train.threads=-1: "train.threads" must be at least 0 and at most 4096, not -1
--set zebra=1: unknown key "zebra")");
}

TEST(ConfigTest, WhatWasNotUnderstoodClashesWithNothing) {
  // d_model stays at its default of 64, which the user did not ask for.
  EXPECT_EQ(mistakes("[model]\nd_model = \"30\"\nnum_heads = 5"),
            "c.toml:2:11: \"model.d_model\": expected an integer, found a string");
  EXPECT_EQ(mistakes("[model]\nd_modle = 30\nnum_heads = 5"),
            "c.toml:2:1: unknown key \"model.d_modle\"; did you mean \"d_model\"?");
  EXPECT_EQ(mistakes("[data", {"data.path=x"}),
            "c.toml:1:6: not valid TOML: encountered end-of-file (in a table header)");
}

// Where the parser found the mistake, and that it says so, whatever its words are.
TEST(ConfigTest, WhatIsNotTomlIsPlaced) {
  const auto starts_with = [](const std::string& text, const std::string& start) {
    const std::string found = mistakes(text);
    EXPECT_EQ(found.substr(0, start.size()), start) << found;
  };
  starts_with("\n[model\n", "c.toml:2:");
  starts_with("seed = ", "c.toml:1:");
  starts_with("name = \"abc\n", "c.toml:1:");
  starts_with("name = \"\xff\"", "c.toml:1:");
  starts_with("seed = 99999999999999999999", "c.toml:1:");
  starts_with("seed = 1\n\nseed = 2", "c.toml:3:");
  starts_with("[model]\nbias = true\n[model]\nbias = true", "c.toml:3:");
  EXPECT_EQ(mistakes("name = reverse"),
            "c.toml:1:8: not valid TOML: could not determine value type (in a value); a string "
            "stands in quotes");
}

TEST(ConfigTest, NestingCannotOverflowTheStack) {
  std::string dots = "a", table = "[a", brackets = "a = ";
  for (int i = 0; i < 30000; ++i) {
    dots += ".a";
    table += ".a";
    brackets += "[";
  }
  EXPECT_EQ(mistakes("\n" + dots + " = 1"), "c.toml:2:1: too many dots for a config");
  EXPECT_EQ(mistakes(table + "]"), "c.toml:1:1: too many dots for a config");
  EXPECT_NE(mistakes(brackets), "");
  EXPECT_NE(mistakes("", {"seed={" + dots + "=1}"}), "");
}

TEST(ConfigTest, OverridesWinAndTheLastOneCounts) {
  const Config config = parsed("[model]\nd_model = 32\n",
                               {"model.d_model=128", "optimizer.betas=[0.5,0.75]", "name=a",
                                "model.d_model=256", " model.bias = false", "data.length=4"});
  EXPECT_EQ(config.model.d_model, 256);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.5, 0.75}));
  EXPECT_EQ(config.name, "a");
  EXPECT_FALSE(config.model.bias);
  EXPECT_EQ(config.data.length, 4);
}

TEST(ConfigTest, AnOverriddenStringNeedsNoQuotes) {
  const auto path = [](const std::string& text) {
    return parsed("[data]\ntask = \"text\"", {"data.path=" + text}).data.path;
  };
  EXPECT_EQ(path("/usr/share/a b.txt"), "/usr/share/a b.txt");
  EXPECT_EQ(path("\"in quotes\""), "in quotes");
  EXPECT_EQ(path("'as it is\\'"), "as it is\\");
  EXPECT_EQ(path("7"), "7");
  EXPECT_EQ(path("true"), "true");
  EXPECT_EQ(path("a=b#c\"d\\e"), "a=b#c\"d\\e");
  EXPECT_EQ(path("1\nseed = 3"), "1\nseed = 3");
  EXPECT_EQ(path(std::string(2000, '.')), std::string(2000, '.'));
}

TEST(ConfigTest, AMistakeInAnOverrideShowsTheOverride) {
  const auto mistake = [](const std::string& text) { return mistakes("", {text}); };
  EXPECT_EQ(mistake("model.d_modl=128"),
            "--set model.d_modl=128: unknown key \"model.d_modl\"; did you mean "
            "\"model.d_model\"?");
  EXPECT_EQ(mistake("d_model=128"),
            "--set d_model=128: unknown key \"d_model\"; did you mean \"model.d_model\"?");
  EXPECT_EQ(mistake("train.sede=1"),
            "--set train.sede=1: unknown key \"train.sede\"; did you mean \"seed\"?");
  EXPECT_EQ(mistake("train.steps=many"),
            "--set train.steps=many: \"train.steps\": expected an integer, found a string");
  EXPECT_EQ(mistake("train.steps="),
            "--set train.steps=: \"train.steps\": expected an integer, found a string");
  EXPECT_EQ(mistake("train.steps=1\nseed=2"),
            "--set train.steps=1\\nseed=2: \"train.steps\": expected an integer, found a string");
  EXPECT_EQ(mistake("data.length=0"),
            "--set data.length=0: \"data.length\" must be at least 1, not 0");
  EXPECT_EQ(mistake("model.d_model"), "--set model.d_model: expected key=value");
  EXPECT_EQ(mistake("=3"), "--set =3: unknown key \"\"");
  EXPECT_EQ(mistake("model=3"),
            "--set model=3: \"model\" is a table; set one of its keys, as in model.kind=…");
  EXPECT_EQ(mistake("data.path=\xff"), "--set data.path=\\xFF: the value is not valid UTF-8");
  EXPECT_EQ(mistake("\x1b[31mseed=1"), "--set \\x1B[31mseed=1: unknown key \"\\u001B[31mseed\"");
}

TEST(ConfigTest, WhatIsQuotedOfAFileStaysOnItsLine) {
  EXPECT_EQ(mistakes("seed = 1\nx = t\n"),
            "c.toml:2:6: not valid TOML: expected 'true', saw 't\\n' (in a boolean)");
  EXPECT_EQ(mistakes("\"a\\nb\" = 1"), "c.toml:1:1: unknown key \"a\\nb\"");
  EXPECT_EQ(mistakes("\"\\u009B31m\" = 1"), "c.toml:1:1: unknown key \"\\xC2\\x9B31m\"");
  const absl::StatusOr<LoadedConfig> loaded = parse_config("zebra = 1", "a\nb\x1b.toml");
  EXPECT_EQ(loaded.status().message(), "a\\nb\\x1B.toml:1:1: unknown key \"zebra\"");
}

TEST(ConfigTest, SaysWhereEachValueCameFrom) {
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

TEST(ConfigTest, OriginsAreCommentsWhateverTheFileIsCalled) {
  const absl::StatusOr<LoadedConfig> loaded =
      parse_config("seed = 2", "a\n[b]\x1b\xff\xc2\x9b.toml");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(parsed(to_toml_with_origins(*loaded)).seed, 2u);
}

TEST(ConfigTest, TomlGivesTheSameConfigBack) {
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

TEST(ConfigTest, ChangesAreListedByKey) {
  Config now, before;
  now.train.steps = 500;
  now.data.task = "copy";
  EXPECT_EQ(config_changes(now, before), (Overrides{"data.task is \"copy\", and was \"reverse\"",
                                                    "train.steps is 500, and was 1000"}));
}

TEST(ConfigTest, TheHelpIsAConfigOfTheDefaults) {
  EXPECT_EQ(config_changes(parsed(config_help()), Config()), Overrides{});
  EXPECT_NE(config_help().find(
                "\ndropout = 0.0                    # The share of numbers that training sets to "
                "zero. Is at least 0 and below 1.\n"),
            std::string::npos)
      << config_help();
  EXPECT_NE(config_help().find("Is one of: none, sinusoidal, learned.\n"), std::string::npos);
}

TEST(LoadConfigTest, ReadsAFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "c.toml", "name = \"x\"\nsead = 1");
  const absl::StatusOr<LoadedConfig> wrong = load_config(folder / "c.toml");
  EXPECT_EQ(wrong.status().message(),
            (folder / "c.toml") + ":2:1: unknown key \"sead\"; did you mean \"seed\"?");
  write_bytes(folder / "c.toml", "name = \"x\"");
  const absl::StatusOr<LoadedConfig> right = load_config(folder / "c.toml", {"seed=3"});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->config.name, "x");
  EXPECT_EQ(right->config.seed, 3u);
}

TEST(LoadConfigTest, AFileThatIsNoConfigIsAnError) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_config(folder / "none.toml").status().message(),
            "cannot read " + (folder / "none.toml") + ": No such file or directory");
  EXPECT_EQ(load_config(folder.path()).status().message(),
            "cannot read " + folder.path() + ": Is a directory");
  EXPECT_EQ(load_config("/proc/self/mem").status().message(),
            "cannot read /proc/self/mem: Input/output error");
  EXPECT_EQ(load_config("/dev/zero").status().message(),
            "cannot read /dev/zero: it has more than 65536 bytes");
  write_bytes(folder / "binary", std::string("\x7f"
                                             "ELF\0\0\0",
                                             7));
  EXPECT_FALSE(load_config(folder / "binary").ok());
}

}  // namespace
}  // namespace qkv
