// What runs, compare, replay, sweep and doctor judge by: the last digit of a number, the right one
// of two measures, the last place of a text.

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "apps/runs/sweep/sweep_table.h"
#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using nlohmann::json;

class TablesOfRunsTest : public CommandLineFixture {
 protected:
  // A copy of the run in which a number of one line of its metrics is larger by a ten-millionth.
  void copy_with_another(const std::string& key, const std::string& from, const std::string& to) {
    std::filesystem::remove_all(folder_ / to);
    std::filesystem::copy(folder_ / from, folder_ / to, std::filesystem::copy_options::recursive);
    std::string text;
    for (json& line : metrics_in(folder_ / from)) {
      if (line["step"] == 15) line[key] = line[key].get<double>() * (1 + 1e-7);
      text += line.dump() + "\n";
    }
    write_bytes(folder_ / (to + "/metrics.jsonl"), text);
  }

  json told(const std::vector<std::string>& command) {
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    return json::parse(result.output);
  }
};

TEST_F(TablesOfRunsTest, LossesThatDifferByTheLeastAreNotTheSame) {
  expect_success(train_tiny("a"));
  copy_with_another("loss", "a", "b");
  EXPECT_EQ(told({"compare", "a", "b", "--json", "-"})["first_step_whose_losses_differ"], 15);
}

TEST_F(TablesOfRunsTest, AStepIsRepeatedOnlyWhereEveryNumberOfItIsTheSame) {
  expect_success(train_tiny("a"));
  EXPECT_TRUE(told({"replay", "a", "--step", "16", "--json", "-"})["differs_at"].is_null());
  for (const std::string key : {"loss", "grad_norm", "learning_rate"}) {
    copy_with_another(key, "a", "b");
    std::filesystem::remove_all(folder_ / "b/checkpoints");  // it begins at the beginning
    EXPECT_EQ(told({"replay", "b", "--step", "16", "--json", "-"})["differs_at"], 15) << key;
  }
}

TEST_F(TablesOfRunsTest, ARunThatWasStoppedCountsEachOfItsTokensOnce) {
  expect_success(train_tiny("whole"));
  // after one step, and 4 before the first line
  expect_success(train_tiny("halves", {"train.max_minutes=1e-9"}));
  expect_success(qkv({"train", "halves", "--resume", "--set", "train.max_minutes=0"}));
  for (const std::string run : {"whole", "halves"}) {
    double tokens = 0, before = 0;
    for (const json& line : metrics_in(folder_ / run)) {
      const double seconds = line["elapsed_seconds"];
      tokens += line["tokens_per_second"].get<double>() * (seconds - before);
      before = seconds;
    }
    // 3 digits, "=", and the answer but for its last digit
    EXPECT_NEAR(tokens / (40 * 8 * 6), 1, 1e-6) << run;
  }
}

TEST_F(TablesOfRunsTest, WhatIsRightIsWholeSequences) {
  expect_success(train_tiny("runs/a"));
  const json run = told({"runs", "--json", "-"})[0];
  for (const json& line : metrics_in(folder_ / "runs/a")) {
    if (line["step"] != run["best_step"]) continue;
    EXPECT_EQ(run["accuracy"], line["val_sequence_accuracy"]);
    EXPECT_NE(line["val_token_accuracy"], line["val_sequence_accuracy"]);
  }
}

TEST_F(TablesOfRunsTest, TheBestOfASweepIsOneWithTheFewestFailures) {
  SweepPlan plan;
  for (const std::string name : {"slow", "quick"}) {
    Combination& combination = plan.combinations.emplace_back();
    for (const std::string seed : {"1", "2"}) {
      SweepRun& run = combination.runs.emplace_back();
      run.folder = folder_ / absl::StrCat(name, seed);
      expect_success(train_tiny(run.folder,
                                {"seed=" + seed, name == "slow" ? "optimizer.learning_rate=1e-6"
                                                                : "optimizer.learning_rate=0.01"}));
    }
  }
  EXPECT_EQ(sweep_results(plan, {"", "", "", ""}).best, 1u);
  EXPECT_EQ(sweep_results(plan, {"", "", "", "no memory"}).best, 0u);
  EXPECT_EQ(sweep_results(plan, {"no memory", "no memory", "", "no memory"}).best, 1u);
  EXPECT_EQ(sweep_results(plan, {"x", "x", "x", "x"}).best, std::nullopt);
}

// ./qkv doctor: sound configs pass, and what is broken in others is named.

class DoctorTest : public CommandLineFixture {
 protected:
  // The checks that find something wrong, with what they say.
  std::map<std::string, std::string> complaints(const std::vector<std::string>& settings,
                                                int exit_status) {
    std::vector<std::string> command = {"doctor", "tiny.toml", "--json", "-"};
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, exit_status) << result.errors;
    std::map<std::string, std::string> wrong;
    for (const json& each : json::parse(result.output)) {
      if (!each["good"].get<bool>()) wrong[each["check"]] = each["finding"];
    }
    return wrong;
  }
};

TEST_F(DoctorTest, FindsNothingWrongWithASoundConfig) {
  EXPECT_THAT(complaints({}, 0), testing::IsEmpty());
  EXPECT_THAT(complaints({"model.kind=encoder_decoder"}, 0), testing::IsEmpty());
  const ProcessResult text = qkv({"doctor", "tiny.toml"});
  expect_success(text);
  EXPECT_THAT(text.output, testing::HasSubstr("✓ causality"));
}

TEST_F(DoctorTest, ATextThatIsReadAheadIsSaidHereAndByTraining) {
  std::string text;
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i * i, " ");
  write_bytes(folder_ / "text.txt", text);
  const std::vector<std::string> settings = {"data.task=text", "data.path=text.txt",
                                             "data.length=8", "attention.causal=false"};
  EXPECT_THAT(complaints(settings, 1)["causality"],
              testing::HasSubstr("reads its answer before it gives it"));
  const ProcessResult trained = train_tiny("run", settings);
  expect_success(trained);
  EXPECT_THAT(unfolded(trained.output),
              testing::HasSubstr("attention.causal is false: each position reads the tokens after "
                                 "it, too, and so the answer that it should give; a low loss does "
                                 "not mean that the model can write\n"));
}

struct Broken {
  std::vector<std::string> settings;
  std::string check, finding;
};

TEST_F(DoctorTest, NamesWhatIsBroken) {
  const std::string rate_is_high = "it learns them: optimizer.learning_rate is too high";
  const Broken kinds[] = {
      {{"optimizer.learning_rate=1"}, "learning by heart", rate_is_high},  // 1,000 times as high
      {{"optimizer.learning_rate=1e30"}, "learning by heart", rate_is_high},
      {{"optimizer.learning_rate=0"}, "learning by heart", "optimizer.learning_rate is too low"},
      {{"model.norm=post", "model.num_layers=8", "optimizer.learning_rate=0.03"},
       "learning by heart",
       rate_is_high},
      {{"optimizer.learning_rate=1e-7"},
       "learning by heart",
       "it learns them: optimizer.learning_rate is too low"},
      {{"attention.causal=false"}, "causality", "reads its answer before it gives it"},
      {{"model.init_std=5"}, "loss at the start", "a smaller model.init_std helps"},
      {{"model.init_std=1e-30", "model.norm=none"}, "gradients", "parameters get none: "},
      {{"model.norm=none", "model.num_layers=24", "model.init_std=0.7"},
       "loss at the start",
       "a smaller model.init_std helps"},
      {{"train.batch_size=1048576", "data.length=1000", "data.alphabet=50"},
       "memory",
       "a smaller train.batch_size"},
      {{"model.d_model=65536", "model.d_ff=262144", "model.num_layers=100"},
       "memory",
       "a smaller model.d_model"}};
  for (const Broken& broken : kinds) {
    EXPECT_THAT(complaints(broken.settings, 1),
                testing::Contains(testing::Pair(broken.check, testing::HasSubstr(broken.finding))))
        << testing::PrintToString(broken.settings);
  }
}

}  // namespace
}  // namespace qkv
