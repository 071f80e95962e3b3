// What a user does, as a user does it; most of that is in transcripts.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class CommandLineTest : public CommandLineFixture {};

TEST_F(CommandLineTest, TrainShowsWhereTheTimeOfItsStepsGoes) {
  const ProcessResult result =
      qkv({"train", "tiny.toml", "--profile", "--set", "train.eval_interval=8"});
  expect_success(result);
  EXPECT_NE(result.output.find("wrote the time of each op in 10 steps to runs/tiny/profile.txt"),
            std::string::npos)
      << result.output;
  const std::string profile = in("runs/tiny/profile.txt");
  EXPECT_NE(profile.find("\nforward   linear "), std::string::npos) << profile;
  EXPECT_NE(profile.find("\nbackward  linear: matmul "), std::string::npos) << profile;

  const auto trace = nlohmann::json::parse(in("runs/tiny/trace.json"));
  int steps = 0;
  bool names_the_place = false;
  for (const auto& event : trace["traceEvents"]) {
    steps += event["name"] == "step";
    names_the_place |= event["args"]["scope"] == "blocks.0.attention";
  }
  EXPECT_EQ(steps, 10) << "an evaluation in between is no part of a step";
  EXPECT_TRUE(names_the_place);

  const ProcessResult resumed =
      qkv({"train", "runs/tiny", "--resume", "--profile", "--set", "train.steps=43"});
  expect_success(resumed);
  EXPECT_NE(resumed.output.find("of each op in 3 steps"), std::string::npos) << resumed.output;
}

TEST_F(CommandLineTest, NamesOfFilesAreEscapedWhereverTheyAreSaid) {
  const std::string config = "c\x1b[31m\xff.toml", run = "r\x1b[32m\xfe";
  write_bytes(folder_ / config, kConfig);
  const std::vector<std::vector<std::string>> commands = {
      {"train", config, "--out", run},
      {"eval", run},
      {"eval", run, "--json", "-"},
      {"info", run},
      {"config", config},
      {"bench", config, "--steps", "1"},
      {"gradcheck", "--config", config, "--json", "-"},
      {"gradcheck", "--config", config, "--sweep", "s\x1b[33m.csv"},
      {"data", config, "--export", "e\x1b[34m"}};
  for (const std::vector<std::string>& command : commands) {
    if (!has_verb(command[0])) continue;
    const ProcessResult result = qkv(command);
    expect_success(result);
    EXPECT_EQ(result.output.find_first_of("\x1b\xff\xfe"), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace qkv
