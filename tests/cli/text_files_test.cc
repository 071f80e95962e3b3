// Runs that learn from a text in several files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;

class TextFilesRunTest : public CommandLineFixture {
 protected:
  TextFilesRunTest() {
    std::filesystem::create_directories(folder_ / "parts/more");
    std::string text;
    for (int i = 0; i < 40; ++i) absl::StrAppend(&text, i * i, " sheep in the meadow\n");
    write_bytes(folder_ / "whole.txt", text);
    write_bytes(folder_ / "parts/a.txt", text.substr(0, 100));
    write_bytes(folder_ / "parts/more/b.txt", text.substr(100));
  }
  ProcessResult train(const std::string& path, const std::string& out, bool resumes = false) {
    std::vector<std::string> command = {"train", "tiny.toml",
                                        "--set", "data.task=text",
                                        "--set", "data.alphabet=10",
                                        "--set", "data.path=" + path,
                                        "--out", out};
    if (resumes) command.insert(command.end(), {"--resume", "--set", "train.steps=60"});
    return qkv(command);
  }

  const std::string list_ = R"(["parts/a.txt", "parts/more"])";
};

TEST_F(TextFilesRunTest, LearnTheSameFromOneFileAFolderAndAList) {
  expect_success(train("whole.txt", "whole"));
  for (const std::string& path : {std::string("parts"), list_}) {
    expect_success(train(path, "run"));
    EXPECT_EQ(in("run/samples.txt"), in("whole/samples.txt"));
    std::filesystem::remove_all(folder_ / "run");
  }
}

TEST_F(TextFilesRunTest, GoOnWithTheSameTextAndWithNoOther) {
  expect_success(train(list_, "run"));
  EXPECT_THAT(in("run/config.toml"), HasSubstr("\npath = " + list_ + "\n"));
  write_bytes(folder_ / "parts/more/c.txt", "1 sheep in the meadow\n");
  expect_error(train(list_, "run", true), 2,
               "run/checkpoints/last.safetensors: parts/a.txt, parts/more is not the text that the "
               "run learned from; restore that one, or start a new run with another --out");
  std::filesystem::remove(folder_ / "parts/more/c.txt");
  expect_success(train(list_, "run", true));
}

TEST_F(TextFilesRunTest, AreJudgedOnAFolder) {
  expect_success(train(list_, "run"));
  const ProcessResult folder = qkv({"eval", "run", "--text", "parts"});
  expect_success(folder);
  EXPECT_EQ(folder.output, qkv({"eval", "run", "--text", "whole.txt"}).output);
  write_bytes(folder_ / "parts/.hidden", "");
  EXPECT_EQ(qkv({"eval", "run", "--text", "parts"}).errors,
            "note: left out of the text: parts/.hidden (hidden)\n");
  write_bytes(folder_ / "parts/z.txt", "sheep\n\nsheep?\n");
  EXPECT_THAT(qkv({"eval", "run", "--text", "parts"}).errors,
              HasSubstr("error: parts/z.txt:3: unknown character 6: \"?\""));
}

TEST_F(TextFilesRunTest, MistakesInAListAreNamed) {
  const auto error = [&](const std::string& path) { return train(path, "run").errors; };
  EXPECT_EQ(error("[]"), "error: --set data.path=[]: \"data.path\" is an empty list\n");
  EXPECT_EQ(error(R"(["a", ""])"),
            "error: --set data.path=[\"a\", \"\"]: \"data.path\" has an empty path in its list\n");
  EXPECT_EQ(error(R"(["parts", "none"])"), "error: cannot read none: No such file or directory\n");
}

}  // namespace
}  // namespace qkv
