// What `--help` prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

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
