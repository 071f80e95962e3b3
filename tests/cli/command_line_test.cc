// What a user does, as a user does it; most of that is in transcripts.

#include <gtest/gtest.h>

#include <filesystem>
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
  double end_of_step = 0;
  bool names_the_place = false;
  // A call ends before what it is in: look from the end.
  const auto& events = trace["traceEvents"];
  double begin_of_step = 0;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const double begin = (*event)["ts"], end = begin + double((*event)["dur"]);
    if ((*event)["name"] == "step") {
      ++steps;
      begin_of_step = begin;
      end_of_step = end;
    }
    EXPECT_LE(begin_of_step, begin) << *event;
    EXPECT_LE(end, end_of_step + 1e-3) << *event;
    names_the_place |= (*event)["args"]["scope"] == "blocks.0.attention";
  }
  EXPECT_EQ(steps, 10) << "an evaluation in between is no part of a step";
  EXPECT_TRUE(names_the_place);

  const ProcessResult resumed =
      qkv({"train", "runs/tiny", "--resume", "--profile", "--set", "train.steps=43"});
  expect_success(resumed);
  EXPECT_NE(resumed.output.find("of each op in 3 steps"), std::string::npos) << resumed.output;
}

TEST_F(CommandLineTest, AFullDiskIsOneErrorAndKeepsTheLastGoodCheckpoint) {
  expect_success(qkv({"train", "tiny.toml", "--out", "a"}));
  const std::string before = in("a/checkpoints/last.safetensors");
  std::filesystem::remove_all(folder_ / "b");
  ProcessOptions full;
  full.largest_file_bytes = 8192;  // enough for the config, not for a checkpoint
  const ProcessResult result = qkv({"train", "tiny.toml", "--out", "b"}, full);
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_EQ(result.errors, "error: cannot write b/checkpoints/last.safetensors: File too large\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b/checkpoints/best.safetensors"));
  EXPECT_EQ(files_in(folder_ / "b/checkpoints"), 0u);
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
