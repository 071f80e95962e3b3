// What is wrong with a config, and where.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/train/config/parsed.h"

namespace qkv {
namespace {

TEST(ConfigMistakesTest, AnUnknownKeyIsPlacedAndTheNearestIsSuggested) {
  EXPECT_EQ(mistakes("[model]\n  num_head = 4"),
            "c.toml:2:3: unknown key \"model.num_head\"; did you mean \"num_heads\"?");
  EXPECT_EQ(mistakes("[optimizer]\nlr = 1"),
            "c.toml:2:1: unknown key \"optimizer.lr\"; did you mean \"learning_rate\"?");
  EXPECT_EQ(mistakes("[model]\nlayers = 4"),
            "c.toml:2:1: unknown key \"model.layers\"; did you mean \"num_layers\"?");
  EXPECT_EQ(mistakes("[model]\nD-Model = 4"),
            "c.toml:2:1: unknown key \"model.D-Model\"; did you mean \"d_model\"?");
  EXPECT_EQ(mistakes("[model]\nzebra = 4"), "c.toml:2:1: unknown key \"model.zebra\"");
}

TEST(ConfigMistakesTest, AKeyInTheWrongTableIsSentToTheRightOne) {
  EXPECT_EQ(mistakes("num_head = 4"),
            "c.toml:1:1: unknown key \"num_head\"; did you mean [model] num_heads?");
  EXPECT_EQ(mistakes("[train]\nlearning_rate = 4"),
            "c.toml:2:1: unknown key \"train.learning_rate\"; did you mean [optimizer] "
            "learning_rate?");
  EXPECT_EQ(mistakes("[model]\nseed = 4"),
            "c.toml:2:1: unknown key \"model.seed\"; did you mean \"seed\" above all tables?");
}

TEST(ConfigMistakesTest, AnUnknownTableIsOneMistake) {
  EXPECT_EQ(mistakes("[modle]\nd_model = 8\nnum_layers = 2"),
            "c.toml:1:2: unknown table \"modle\"; did you mean [model]?");
  EXPECT_EQ(mistakes("[zebra]\nx = 8"),
            "c.toml:1:2: unknown table \"zebra\"; the tables are \"data\", \"model\", "
            "\"attention\", \"optimizer\" and \"train\"");
  EXPECT_EQ(mistakes("model = 3"), "c.toml:1:1: \"model\": expected a table, found an integer");
  EXPECT_EQ(mistakes("[[model]]\nd_model = 3"),
            "c.toml:1:3: \"model\": expected a table, found an array of 1");
  EXPECT_EQ(mistakes("[model.d_model]\nx = 3"),
            "c.toml:1:1: \"model.d_model\": expected an integer, found a table");
}

TEST(ConfigMistakesTest, AWrongTypeIsNamed) {
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

TEST(ConfigMistakesTest, AValueOutOfRangeIsToldTheRange) {
  EXPECT_EQ(mistakes("[data]\nlength = 0"),
            "c.toml:2:10: \"data.length\" must be at least 1, not 0");
  EXPECT_EQ(mistakes("[optimizer]\nlearning_rate = -0.001"),
            "c.toml:2:17: \"optimizer.learning_rate\" must be at least 0, not -0.001");
  EXPECT_EQ(mistakes("[model]\ndropout = 1"),
            "c.toml:2:11: \"model.dropout\" must be at least 0 and below 1, not 1.0");
  EXPECT_EQ(mistakes("[data]\ntrain_fraction = 0.0"),
            "c.toml:2:18: \"data.train_fraction\" must be above 0 and at most 1, not 0.0");
  EXPECT_EQ(mistakes("[model]\ninit_std = 0"),
            "c.toml:2:12: \"model.init_std\" must be above 0, not 0.0");
  EXPECT_EQ(mistakes("[optimizer]\nbetas = [0.9, 1.0]"),
            "c.toml:2:15: \"optimizer.betas\" must be at least 0 and below 1, not 1.0");
  EXPECT_EQ(mistakes("seed = -1"), "c.toml:1:8: \"seed\" must be at least 0, not -1");
  EXPECT_EQ(mistakes("[model]\nnum_heads = 0"),
            "c.toml:2:13: \"model.num_heads\" must be at least 1 and at most 65536, not 0");
}

TEST(ConfigMistakesTest, NothingIsInfiniteOrNotANumber) {
  EXPECT_EQ(mistakes("[optimizer]\nlearning_rate = inf"),
            "c.toml:2:17: \"optimizer.learning_rate\" must be finite, not inf");
  EXPECT_EQ(mistakes("[optimizer]\nweight_decay = nan"),
            "c.toml:2:16: \"optimizer.weight_decay\" must be finite, not nan");
}

TEST(ConfigMistakesTest, ANumberThatF32MakesAnotherOneIsAMistake) {
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
    const Overrides kind = {key == "optimizer.momentum" ? "optimizer.kind=sgd" : "seed=1"};
    EXPECT_NE(mistakes(key + " = 1e-50", kind), "") << key;
    EXPECT_EQ(mistakes(key + " = 1e-50\ntrain.precision = \"f64\"", kind), "") << key;
    EXPECT_EQ(mistakes(key + " = 1e-40", kind), "") << key;
  }
  EXPECT_EQ(
      mistakes("[optimizer]\nepsilon = 1e-50\n[train]\nprecision = \"f16\""),
      "c.toml:4:13: \"train.precision\": unknown value \"f16\"; did you mean \"bf16\"? It can "
      "be \"f32\", \"f64\" or \"bf16\"")
      << "the precision that is meant is not known";
}

TEST(ConfigMistakesTest, AnUnknownValueIsToldTheKnownOnes) {
  EXPECT_EQ(mistakes("[model]\nnorm_kind = \"rsm\""),
            "c.toml:2:13: \"model.norm_kind\": unknown value \"rsm\"; did you mean \"rms\"? It can "
            "be \"layer\" or \"rms\"");
  EXPECT_EQ(mistakes("[model]\nposition = \"zebra\""),
            "c.toml:2:12: \"model.position\": unknown value \"zebra\"; it can be \"none\", "
            "\"sinusoidal\", \"learned\", \"rotary\", \"alibi\" or \"relative\"");
}

TEST(ConfigMistakesTest, AFileThatSetsNothingIsNoted) {
  const std::string note = "c.toml sets nothing: every key has its default";
  EXPECT_EQ(parse_config("# seed = 2\n[model]\n", "c.toml")->notes, std::vector{note});
  EXPECT_EQ(parse_config("", "c.toml", {"seed=2"})->notes,
            std::vector{note + ", except those of --set"});
  EXPECT_EQ(parse_config("seed = 1", "c.toml", {"seed=2"})->notes, std::vector<std::string>());
}

TEST(ConfigMistakesTest, AShorterRunThanThatOfTheFileWarmsUpForTheSameShare) {
  const std::string file = "[optimizer]\nwarmup_steps = 50\n[train]\nsteps = 500";
  const absl::StatusOr<LoadedConfig> loaded = parse_config(file, "c.toml", {"train.steps=40"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.optimizer.warmup_steps, 4);
  EXPECT_EQ(loaded->notes, std::vector<std::string>{
                               "optimizer.warmup_steps is 4 instead of 50, as train.steps is 40 "
                               "instead of 500"});
  EXPECT_EQ(parsed(file, {"train.steps=100"}).optimizer.warmup_steps, 50);
  EXPECT_EQ(mistakes(file, {"train.steps=40", "optimizer.warmup_steps=60"}),
            "--set optimizer.warmup_steps=60: \"optimizer.warmup_steps\" is 60, above "
            "\"train.steps\", which is 40");
}

TEST(ConfigMistakesTest, SettingsThatClashAreReportedAtTheCulprit) {
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

TEST(ConfigMistakesTest, ATextNeedsAPath) {
  EXPECT_EQ(mistakes("[data]\ntask = \"text\""),
            "c.toml:2:8: \"data.path\" is missing: the task \"text\" reads a file; give one with "
            "--set data.path=FILE");
  EXPECT_EQ(parsed("[data]\ntask = \"text\"", {"data.path=a.txt"}).data.path, "a.txt");
  EXPECT_EQ(mistakes("[data]\ntask = \"lines\"\npath = \"a\\u0000b\""),
            "c.toml:3:8: \"data.path\" contains a NUL character");
}

TEST(ConfigMistakesTest, TheNameCanNameAFolder) {
  for (const char* name : {"reverse", "été", "a b", "run-2.1"}) {
    EXPECT_EQ(parsed(absl::StrCat("name = \"", name, "\"")).name, name);
  }
  const auto mistake = [](const std::string& name) { return mistakes("name = \"" + name + "\""); };
  const std::string start = "c.toml:1:8: \"name\" cannot be the name of a folder: it ";
  EXPECT_EQ(mistake(""), start + "is empty");
  EXPECT_EQ(mistake("a/b"), start + "contains a /");
  EXPECT_EQ(mistake(".."), start + "begins with a .");
  EXPECT_EQ(mistake("-x"), start + "begins with a -");
  EXPECT_EQ(mistake("a\\nb"), start + "contains a control character");
  EXPECT_EQ(mistake("a\\u0085b"), start + "contains a control character");
  EXPECT_EQ(mistake(std::string(101, 'x')), start + "is longer than 100 bytes");
}

TEST(ConfigMistakesTest, AllMistakesComeAtOnceInTheOrderOfTheFile) {
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

// What is unknown, of a wrong type, out of range, read by nothing, clashes or is not even TOML
// hides none of the others.
TEST(ConfigMistakesTest, NoKindOfMistakeHidesAnother) {
  EXPECT_EQ(mistakes("[model]\n"
                     "d_modl = 64\n"
                     "[optimizer]\n"
                     "learning_rate = -1.0\n"
                     "warmup_steps = 2000\n"
                     "[train]\n"
                     "eval_interval = \"often\"\n"
                     "[data]\n"
                     "lenght = 3\n"
                     "digits = 4\n"),
            R"(c.toml:2:1: unknown key "model.d_modl"; did you mean "d_model"?
c.toml:4:17: "optimizer.learning_rate" must be at least 0, not -1.0
c.toml:5:16: "optimizer.warmup_steps" is 2000, above "train.steps", which is 1000
c.toml:7:17: "train.eval_interval": expected an integer, found a string
c.toml:9:1: unknown key "data.lenght"; did you mean "length"?
c.toml:10:1: "data.digits" is read by addition; set "data.task" to one of these)");
  EXPECT_EQ(
      mistakes("[train]\n"
               "steps = many\n"
               "batch_size = 0\n"
               "[model]\n"
               "dropout = 0,5\n"
               "d_modl = 3\n",
               {"model.num_heads=few", "train.stps=1"}),
      R"(c.toml:2:9: not valid TOML: could not determine value type (in a value); a string needs quotes
c.toml:3:14: "train.batch_size" must be at least 1 and at most 1048576, not 0
c.toml:5:12: not valid TOML: expected a comment or whitespace, saw ',' (in a key-value pair)
c.toml:6:1: unknown key "model.d_modl"; did you mean "d_model"?
--set model.num_heads=few: "model.num_heads": expected an integer, found a string
--set train.stps=1: unknown key "train.stps"; did you mean "train.steps"?)");
}

// What is not closed swallows the lines after it: they are no mistakes.
TEST(ConfigMistakesTest, WhatIsNotClosedIsOneMistake) {
  for (const char* start : {"[optimizer]\nbetas = [0.9, 0.99\n", "name = \"\"\"a\n", "[model\n"}) {
    const std::string found =
        mistakes(start + std::string("seed = 2\nzebra = 1\n\n[train]\nsteps = 7\n"));
    EXPECT_EQ(std::ranges::count(found, '\n'), 0) << found;
    EXPECT_NE(found.find("not valid TOML"), std::string::npos) << found;
  }
}

TEST(ConfigMistakesTest, WhatWasNotUnderstoodClashesWithNothing) {
  // d_model stays at its default of 64, which the user did not ask for.
  EXPECT_EQ(mistakes("[model]\nd_model = \"30\"\nnum_heads = 5"),
            "c.toml:2:11: \"model.d_model\": expected an integer, found a string");
  EXPECT_EQ(mistakes("[model]\nd_modle = 30\nnum_heads = 5"),
            "c.toml:2:1: unknown key \"model.d_modle\"; did you mean \"d_model\"?");
  EXPECT_EQ(mistakes("[data", {"data.path=x"}),
            "c.toml:1:6: not valid TOML: encountered end-of-file (in a table header)");
}

// Where the parser found the mistake, and that it says so, whatever its words are.
TEST(ConfigMistakesTest, WhatIsNotTomlIsPlaced) {
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
            "needs quotes");
}

TEST(ConfigMistakesTest, NestingCannotOverflowTheStack) {
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

TEST(ConfigMistakesTest, AMistakeInAnOverrideShowsTheOverride) {
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

TEST(ConfigMistakesTest, WhatIsQuotedOfAFileStaysOnItsLine) {
  EXPECT_EQ(mistakes("seed = 1\nx = t\n"),
            "c.toml:2:6: not valid TOML: expected 'true', saw 't\\n' (in a boolean)");
  EXPECT_EQ(mistakes("\"a\\nb\" = 1"), "c.toml:1:1: unknown key \"a\\nb\"");
  EXPECT_EQ(mistakes("\"\\u009B31m\" = 1"), "c.toml:1:1: unknown key \"\\xC2\\x9B31m\"");
  const absl::StatusOr<LoadedConfig> loaded = parse_config("zebra = 1", "a\nb\x1b.toml");
  EXPECT_EQ(loaded.status().message(), "a\\nb\\x1B.toml:1:1: unknown key \"zebra\"");
}

}  // namespace
}  // namespace qkv
