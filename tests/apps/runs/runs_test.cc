// ./qkv runs and ./qkv compare: what is told of runs that were made.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class RunsTest : public CommandLineFixture {
 protected:
  void train(const std::string& folder, const std::vector<std::string>& settings = {}) {
    expect_success(train_tiny(folder, settings));
  }

  std::vector<std::string> names(const std::string& sort) {
    std::vector<std::string> names;
    for (const json& run : json::parse(qkv({"runs", "--json", "-", "--sort", sort}).output)) {
      names.push_back(run["run"]);
    }
    return names;
  }
};

TEST_F(RunsTest, AreListedWithWhatBecameOfThem) {
  train("runs/short", {"train.steps=20"});
  train("runs/long");
  train("runs/more/inner", {"train.steps=10", "seed=2"});
  const ProcessResult table = qkv({"runs"});
  expect_success(table);
  EXPECT_THAT(table.output, HasSubstr("runs/short       reverse  finished     20"));
  EXPECT_THAT(table.output, HasSubstr("runs/more/inner  reverse  finished     10"));
  EXPECT_EQ(names("name"),
            (std::vector<std::string>{"runs/long", "runs/more/inner", "runs/short"}));
  EXPECT_EQ(names("steps"),
            (std::vector<std::string>{"runs/long", "runs/short", "runs/more/inner"}));
  const json list = json::parse(qkv({"runs", "--json", "-", "--sort=name"}).output);
  const json metrics = json::parse(
      in("runs/long/metrics.jsonl").substr(in("runs/long/metrics.jsonl").rfind("\n{") + 1));
  EXPECT_EQ(list[0]["steps"], 40);
  EXPECT_EQ(list[0]["state"], "finished");
  EXPECT_LE(list[0]["best_val_loss"].get<double>(), metrics["val_loss"].get<double>());
  EXPECT_EQ(list[1]["seed"], 2);
}

TEST_F(RunsTest, StepsAreThoseThatAreSavedWhereTheyAreMoreThanThoseThatAreLogged) {
  train("runs/a");
  const std::string lines = in("runs/a/metrics.jsonl");
  const auto steps = [&] {
    return json::parse(qkv({"runs", "--json", "-"}).output)[0]["steps"].get<int64_t>();
  };
  const size_t last_line = lines.rfind("\n{") + 1;
  write_bytes(folder_ / "runs/a/metrics.jsonl", lines.substr(0, last_line));
  EXPECT_EQ(steps(), 40);
  std::filesystem::remove(folder_ / "runs/a/checkpoints/last.safetensors");
  EXPECT_EQ(steps(), 35);
  write_bytes(folder_ / "runs/a/checkpoints/last.safetensors", "x");
  EXPECT_EQ(steps(), 35);
}

TEST_F(RunsTest, TwoAreComparedByConfigResultsAndLosses) {
  train("a");
  train("b", {"optimizer.learning_rate=0.002", "model.position=none"});
  const ProcessResult text = qkv({"compare", "a", "b"});
  expect_success(text);
  EXPECT_THAT(text.output, HasSubstr("optimizer.learning_rate"));
  EXPECT_THAT(text.output, HasSubstr("model.position"));
  EXPECT_THAT(text.output, HasSubstr("differ from step 5 on"));
  const json other = json::parse(qkv({"compare", "a", "b", "--json", "-"}).output);
  EXPECT_EQ(other["config"]["optimizer.learning_rate"], (json{"0.001", "0.002"}));
}

TEST_F(RunsTest, TheirSpeedIsThatOfAllTheirSteps) {
  train("a");
  train("b");
  // 10 s at 100, 1 s at 400; and 2 s at 300.
  write_bytes(folder_ / "a/metrics.jsonl",
              R"({"step":5,"loss":2,"tokens_per_second":100,"elapsed_seconds":10}
{"step":40,"loss":1,"tokens_per_second":400,"elapsed_seconds":11}
)");
  write_bytes(folder_ / "b/metrics.jsonl",
              R"({"step":40,"loss":1,"tokens_per_second":300,"elapsed_seconds":2}
)");
  EXPECT_THAT(qkv({"compare", "a", "b"}).output,
              testing::ContainsRegex("tokens a second +127 +300\n"));
  const json both = json::parse(qkv({"compare", "a", "b", "--json", "-"}).output)["results"];
  EXPECT_NEAR(both["tokens_per_second"][0].get<double>(), 1400.0 / 11, 1e-9);
  EXPECT_EQ(both["tokens_per_second"][1], 300);
  const json list = json::parse(qkv({"runs", ".", "--json", "-", "--sort=name"}).output);
  EXPECT_EQ(list[0]["tokens_per_second"], both["tokens_per_second"][0]);
}

TEST_F(RunsTest, ARunThatWasStoppedCountsEachOfItsTokensOnce) {
  // What the lines of metrics.jsonl say that was read: speed times time.
  const auto tokens_of = [&](const std::string& run) {
    std::istringstream lines(in(run + "/metrics.jsonl"));
    double tokens = 0, before = 0;
    for (std::string text; std::getline(lines, text);) {
      const json line = json::parse(text);
      const double seconds = line["elapsed_seconds"];
      tokens += line["tokens_per_second"].get<double>() * (seconds - before);
      before = seconds;
    }
    return tokens;
  };
  train("whole");
  train("halves", {"train.max_minutes=1e-9"});  // after one step, and 4 before the first line
  expect_success(qkv({"train", "halves", "--resume", "--set", "train.max_minutes=0"}));
  const double tokens = 40 * 8 * 6;  // 3 digits, "=", and the answer but for its last digit
  EXPECT_NEAR(tokens_of("whole"), tokens, 1e-6 * tokens);
  EXPECT_NEAR(tokens_of("halves"), tokens, 1e-6 * tokens);
}

}  // namespace
}  // namespace qkv
