// Which files the program replaces by what it writes, and which it does not.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class OutputsTest : public CommandLineFixture {
 protected:
  void SetUp() override { NEEDS_VERBS("explain", "gradcheck", "lab"); }

  void expect_kept(const std::vector<std::string>& command, const std::string& option,
                   const std::string& path) {
    const std::string before = in(path);
    expect_error(qkv(command), 2,
                 "--" + option + ": " + path +
                     " exists and is a file of another kind, which would be lost; choose another "
                     "name");
    EXPECT_EQ(in(path), before);
  }
};

TEST_F(OutputsTest, AFileOfAnotherKindIsKept) {
  expect_success(qkv({"train", "tiny.toml", "--set", "train.steps=1"}));
  const std::string checkpoint = "runs/tiny/checkpoints/last.safetensors";
  const std::vector<std::string> explain = {"explain", "--example", "three-words"};
  const std::vector<std::string> gradcheck = {"gradcheck", "--op", "exp"};
  for (const char* option : {"out", "json"}) {
    std::vector<std::string> command = explain;
    command.insert(command.end(), {std::string("--") + option, checkpoint});
    expect_kept(command, option, checkpoint);
  }
  for (const char* option : {"out", "json", "sweep"}) {
    std::vector<std::string> command = gradcheck;
    command.insert(command.end(), {std::string("--") + option, "tiny.toml"});
    expect_kept(command, option, "tiny.toml");
  }
  for (const char* option : {"out", "json"}) {
    expect_kept({"lab", "softmax", std::string("--") + option, "tiny.toml"}, option, "tiny.toml");
  }
  expect_kept({"lab", "--all", "--notes", "tiny.toml"}, "notes", "tiny.toml");
  std::filesystem::create_directory(folder_ / "pages");
  write_bytes(folder_ / "pages/cost.json", "[1, 2]");
  expect_kept({"lab", "--all", "--out", "pages"}, "out", "pages/cost.json");
  std::filesystem::create_directory(folder_ / "notes");
  write_bytes(folder_ / "notes/note-B.html", "<p>mine</p>");
  expect_kept({"lab", "--all", "--out", "notes"}, "out", "notes/note-B.html");
}

TEST_F(OutputsTest, AJsonOfAnotherKindIsKept) {
  expect_success(qkv({"train", "tiny.toml", "--set", "train.steps=1"}));
  write_bytes(folder_ / "package.json", "{\n  \"name\": \"mine\"\n}\n");
  const std::vector<std::vector<std::string>> commands = {
      {"explain", "--example", "three-words", "--json"},
      {"gradcheck", "--op", "exp", "--json"},
      {"lab", "sinusoid", "--json"}};
  const std::vector<std::string> own = {"lesson.json", "gradcheck.json", "report.json"};
  for (size_t i = 0; i < commands.size(); ++i) {
    const auto with = [&](const std::string& path) {
      std::vector<std::string> command = commands[i];
      command.push_back(path);
      return command;
    };
    expect_success(qkv(with(own[i])));
    expect_kept(with("runs/tiny/metrics.jsonl"), "json", "runs/tiny/metrics.jsonl");
    expect_kept(with("package.json"), "json", "package.json");
    for (size_t other = 0; other < i; ++other) expect_kept(with(own[other]), "json", own[other]);
  }
}

TEST_F(OutputsTest, AFileOfItsOwnKindIsReplaced) {
  for (int i = 0; i < 2; ++i) {
    expect_success(
        qkv({"explain", "--example", "three-words", "--json", "a.json", "--out", "a.html"}));
    expect_success(qkv({"gradcheck", "--op", "exp", "--json", "b.json", "--out", "b.html"}));
    expect_success(qkv({"gradcheck", "--op", "exp", "--sweep", "b.csv"}));
    expect_success(qkv({"gradcheck", "--op", "exp", "--mutate", "--json", "b.json"}));
    expect_success(qkv({"gradcheck", "--op", "exp", "--precision", "f32", "--json", "b.json"}));
    expect_success(qkv({"lab", "sinusoid", "--out", "c.html", "--json", "c.json"}));
  }
  write_bytes(folder_ / "empty", "");
  expect_success(qkv({"explain", "--example", "three-words", "--out", "empty"}));
  EXPECT_EQ(in("empty"), in("a.html"));
}

TEST_F(OutputsTest, TwoOutputsAreTwoFiles) {
  std::filesystem::create_directory(folder_ / "folder");
  const std::vector<std::string> explain = {"explain", "--example", "three-words", "--out"};
  for (const char* other : {"s", "./s", "folder/../s"}) {
    std::vector<std::string> command = explain;
    command.insert(command.end(), {"s", "--json", other});
    expect_error(
        qkv(command), 2,
        std::string("--out and --json both name the file ") + other + "; choose two names");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "s"));
  }
  expect_error(qkv({"gradcheck", "--op", "exp", "--out", "s", "--json", "s"}), 2,
               "--json and --out both name the file s; choose two names");
  expect_error(qkv({"explain", "--example", "three-words", "--out", "/dev/stdout", "--json",
                    "/proc/self/fd/1"}),
               2, "--out and --json both name the file /proc/self/fd/1; choose two names");
}

}  // namespace
}  // namespace qkv
