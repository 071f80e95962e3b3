// ./qkv sweep: many runs, each with the bits of a single one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "apps/runs/sweep/sweep_plan.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SweepTest : public CommandLineFixture {
 protected:
  ProcessResult sweep(std::vector<std::string> arguments, const ProcessOptions& options = {}) {
    arguments.insert(arguments.begin(), {"sweep", "tiny.toml"});
    return qkv(arguments, options);
  }

  void expect_same_run(const std::string& a, const std::string& b) const {
    for (const char* name : {"config.toml", "samples.txt", "checkpoints/last.safetensors",
                             "checkpoints/best.safetensors"}) {
      EXPECT_EQ(in(a + "/" + name), in(b + "/" + name)) << a << " " << b << " " << name;
      EXPECT_NE(in(a + "/" + name), "") << a << " " << name;
    }
  }
};

TEST_F(SweepTest, EachRunHasTheBitsOfASingleOne) {
  const ProcessResult result = sweep({"--set", "optimizer.learning_rate=1e-3,0.01", "--set",
                                      "train.steps=30", "--seeds", "2", "--jobs", "2"});
  expect_success(result);
  for (const std::string rate : {"0.001", "0.01"}) {
    for (const std::string seed : {"1", "2"}) {
      const std::string single = absl::StrCat("single-", rate, "-", seed);
      expect_success(qkv({"train", "tiny.toml", "--out", single, "--set", "train.steps=30", "--set",
                          "seed=" + seed, "--set", "optimizer.learning_rate=" + rate}));
      expect_same_run(single, absl::StrCat("runs/tiny-sweep/learning_rate=", rate, ",seed=", seed));
    }
  }
  EXPECT_THAT(result.output, HasSubstr("tiny: 4 runs, "));
  EXPECT_THAT(result.output, testing::ContainsRegex("0.001 .* ± .* 2"));
}

TEST_F(SweepTest, GoesOnAfterAnyEnd) {
  const std::vector<std::string> arguments = {
      "--set", "train.steps=400,401", "--seeds", "2", "--jobs", "2", "--out"};
  const auto with = [&](const std::string& folder) {
    std::vector<std::string> all = arguments;
    all.push_back(folder);
    return all;
  };
  expect_success(sweep(with("whole")));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string folder = "ended-by-" + std::to_string(signal);
    int times = 0;
    ProcessOptions options;
    options.on_output = [&](pid_t program, const std::string& output) {
      if (output.find("into") == std::string::npos) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(40 * ++times));
      ::kill(program, signal);
      return true;
    };
    for (int i = 0; i < 3; ++i) {
      const ProcessResult result = sweep(with(folder), options);
      if (result.exit_status == 0) break;
      EXPECT_EQ(result.exit_status, signal == SIGKILL ? 128 + SIGKILL : 130) << result.errors;
      EXPECT_EQ(result.errors, "");
      if (signal == SIGKILL) continue;
      EXPECT_THAT(result.output,
                  HasSubstr(" of 4 runs are finished; the same command continues\n"));
    }
    expect_success(sweep(with(folder)));
    for (const char* run : {"steps=400,seed=1", "steps=400,seed=2", "steps=401,seed=1"}) {
      const std::string name = std::string("/") + run;
      expect_same_run("whole" + name, folder + name);
    }
  }
}

// As under mpirun: each run is trained by one of the processes, and one of them tells the results.
TEST_F(SweepTest, RanksShareTheRuns) {
  const std::vector<std::string> arguments = {
      "--set", "train.steps=300,301", "--seeds", "4", "--jobs", "1", "--out"};
  const auto sweep_into = [&](const std::string& folder, const std::vector<std::string>& more,
                              const ProcessOptions& options = {}) {
    std::vector<std::string> all = arguments;
    all.push_back(folder);
    all.insert(all.end(), more.begin(), more.end());
    return sweep(all, options);
  };
  expect_success(sweep_into("alone", {"--json", "alone.json"}));
  std::vector<ProcessResult> results(3);
  {
    std::vector<std::jthread> ranks;
    for (size_t rank = 0; rank < results.size(); ++rank) {
      ranks.emplace_back([&, rank] {
        results[rank] =
            sweep_into("shared", {"--json", "shared.json"},
                       {.environment = {"PMI_RANK=" + std::to_string(rank), "MPI_LOCALNRANKS=3"}});
      });
    }
  }
  for (const ProcessResult& result : results) expect_success(result);
  EXPECT_EQ(results[1].output + results[2].output, "");
  EXPECT_THAT(results[0].output, HasSubstr("was finished"));  // by another rank
  const json alone = json::parse(in("alone.json")), shared = json::parse(in("shared.json"));
  for (size_t i = 0; i < alone["combinations"].size(); ++i) {
    const json& numbers = shared["combinations"][i];
    EXPECT_EQ(alone["combinations"][i]["mean_best_val_loss"], numbers["mean_best_val_loss"]);
    EXPECT_EQ(numbers["runs"].size(), 4u);
  }
  expect_same_run("alone/steps=301,seed=4", "shared/steps=301,seed=4");
}

TEST_F(SweepTest, TheSecondSignalEndsItAtOnce) {
  const std::string last = "runs/tiny-sweep/seed=1/checkpoints/last.safetensors";
  ProcessOptions options;
  options.on_output = [&](pid_t program, const std::string& output) {
    if (output.find("into") == std::string::npos) return false;
    while (!std::filesystem::exists(folder_ / last)) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is in its long step
    ::kill(program, SIGINT);
    ::kill(program, SIGTERM);
    return true;
  };
  const ProcessResult result = sweep({"--set", "train.batch_size=200000", "--set",
                                      "train.accumulation_steps=200", "--set", "data.length=12"},
                                     options);
  EXPECT_EQ(result.exit_status, 130) << result.output << result.errors;
  EXPECT_NE(in(last).find("\"step\":\"0\""), std::string::npos) << "the step was waited for";
}

TEST_F(SweepTest, ARunThatIsTooLargeFailsBeforeItHasAFolder) {
  const ProcessResult result = sweep({"--set", "model.d_model=16,65536"});
  expect_error(result, 1, "1 of 2 runs failed; the same command tries only that one again");
  EXPECT_THAT(result.output, HasSubstr("d_model=65536,seed=1 failed: "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs/tiny-sweep/d_model=65536,seed=1"));
}

TEST_F(SweepTest, ATerminalSeesHowFarItIs) {
  ProcessOptions options;
  options.in_terminal = true;
  const ProcessResult result = sweep({"--set", "train.steps=400"}, options);
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("\r\x1b[K"));
  EXPECT_THAT(result.output, HasSubstr("0 of 1 runs are finished, 1 trains"));
}

using testing::ElementsAre;

TEST(ValuesOfListTest, ACommaInBracketsOrQuotesBelongsToTheValue) {
  EXPECT_THAT(values_of_list("1,2"), ElementsAre("1", "2"));
  EXPECT_THAT(values_of_list(""), ElementsAre(""));
  EXPECT_THAT(values_of_list("[0.9,0.95],[1,[2,3]],4"),
              ElementsAre("[0.9,0.95]", "[1,[2,3]]", "4"));
  EXPECT_THAT(values_of_list(R"("a,b",'c,"d',e)"), ElementsAre(R"("a,b")", R"('c,"d')", "e"));
  EXPECT_THAT(values_of_list(R"("a\",b",c)"), ElementsAre(R"("a\",b")", "c"))
      << "an escaped quote ends nothing";
  EXPECT_THAT(values_of_list(R"('a\',b)"), ElementsAre(R"('a\')", "b"))
      << "between single quotes nothing is escaped";
  EXPECT_THAT(values_of_list(R"( "a,b",c)"), ElementsAre(R"( "a,b")", "c"));
  EXPECT_THAT(values_of_list(R"(a"b,c")"), ElementsAre(R"(a"b)", R"(c")"))
      << "a value that does not begin with a quote has none";
}

}  // namespace
}  // namespace qkv
