// What a user does, as a user does it; most of that is in transcripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
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

// What `--help` prints.

class HelpTest : public CommandLineFixture {};

TEST_F(HelpTest, KeepsToEightyColumns) {
  std::vector<std::vector<std::string>> commands = {{"--help"}};
  const ProcessResult overview = qkv({"--help"});
  for (const absl::string_view line : absl::StrSplit(overview.output, '\n')) {
    if (!absl::StartsWith(line, "  ")) continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    commands.push_back({words[0], "--help"});
  }
  ASSERT_GT(commands.size(), has_verb("lab") ? 15u : 5u);
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult help = qkv(command);
    expect_success(help);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(help.output, '\n'))) {
      EXPECT_LE(text_width(line), 80) << command[0] << ": " << line;
    }
  }
}

TEST_F(HelpTest, HelpBeforeAVerbIsTheHelpOfTheVerb) {
  for (const char* verb : {"train", "gradcheck"}) {  // one of each program
    if (!has_verb(verb)) continue;
    const ProcessResult result = qkv({"help", verb});
    expect_success(result);
    EXPECT_EQ(result.output, qkv({verb, "--help"}).output);
  }
  EXPECT_EQ(qkv({"help", "help"}).output, qkv({"--help"}).output);
  expect_error(qkv({"help", "trian"}), 2, "there is no verb \"trian\"; did you mean \"train\"?");
}

TEST_F(HelpTest, WhatOnlyTheLauncherCanStartSaysSo) {
  NEEDS_VERBS("python", "notebook", "ladder");
  for (const char* verb : {"python", "notebook", "ladder"}) {
    const ProcessResult result = qkv({verb, "--no-browser", "lesson.py"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_THAT(result.errors, testing::HasSubstr(absl::StrCat("./qkv ", verb)));
  }
}

TEST_F(HelpTest, TellsTheVersionOfTheProjectAndWhatItWasCompiledWith) {
  const ProcessResult result = qkv({"--version"});
  expect_success(result);
  const std::vector<std::string> lines = absl::StrSplit(result.output, '\n');
  ASSERT_EQ(lines.size(), 4U) << result.output;  // the last one is empty
  ASSERT_TRUE(lines[0].starts_with("qkv ")) << result.output;
  const std::string version = lines[0].substr(4);
  EXPECT_NE(contents_of(QKV_SOURCE_DIR "/CMakeLists.txt").find("VERSION " + version + " "),
            std::string::npos)
      << version;
  EXPECT_NE(contents_of(QKV_SOURCE_DIR "/CHANGELOG.md").find("## " + version), std::string::npos)
      << version;
  EXPECT_TRUE(lines[1].starts_with("compiled by ")) << result.output;
  EXPECT_TRUE(lines[2].starts_with("matrix products by oneDNN ")) << result.output;
}

}  // namespace
}  // namespace qkv
