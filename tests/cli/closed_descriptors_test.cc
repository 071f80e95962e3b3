// A program that is started without standard input, output or error must not take the numbers of
// these for its files.

#include <gtest/gtest.h>

#include <sstream>

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class ClosedDescriptorsTest : public CommandLineFixture {
 protected:
  ProcessResult qkv_without(const std::vector<int>& descriptors,
                            const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.closed = descriptors;
    return qkv(arguments, options);
  }
};

TEST_F(ClosedDescriptorsTest, TrainingWritesTheSameFiles) {
  expect_success(qkv({"train", "tiny.toml", "--out", "whole"}));
  const std::vector<std::vector<int>> all_sets = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}};
  for (size_t i = 0; i < all_sets.size(); ++i) {
    const std::string out = "run" + std::to_string(i);
    const bool has_output = i == 0 || i == 2;
    const ProcessResult result = qkv_without(all_sets[i], {"train", "tiny.toml", "--out", out});
    EXPECT_EQ(result.exit_status, has_output ? 0 : 1) << out << result.errors;
    EXPECT_EQ(in(out + "/samples.txt"), in("whole/samples.txt")) << out;
    for (const char* name : {"best", "last"}) {
      const std::string file = std::string("/checkpoints/") + name + ".safetensors";
      EXPECT_EQ(in(out + file), in("whole" + file)) << out;
    }
    EXPECT_EQ(in(out + "/config.toml"), in("whole/config.toml")) << out;
    std::istringstream metrics(in(out + "/metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) EXPECT_EQ(line[0], '{') << out;
  }
}

TEST_F(ClosedDescriptorsTest, WhatCannotBeSaidIsAnError) {
  expect_error(qkv_without({1}, {"config", "tiny.toml"}), 1, "cannot write to standard output");
  EXPECT_EQ(qkv_without({1, 2}, {"config", "tiny.toml"}).exit_status, 1);
  EXPECT_EQ(qkv_without({2}, {"config", "none.toml"}).exit_status, 2);
  EXPECT_EQ(qkv_without({2}, {"config", "tiny.toml"}).exit_status, 0);
}

TEST_F(ClosedDescriptorsTest, NothingIsReadOrWrittenByTheirNames) {
  expect_error(qkv_without({0}, {"config", "/dev/stdin"}), 2,
               "cannot read /dev/stdin: Is a directory");
  NEEDS_VERBS("gradcheck");
  const ProcessResult result =
      qkv_without({1}, {"gradcheck", "--op", "exp", "--json", "/dev/stdout"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.errors.find("cannot write /dev/stdout: Is a directory"), std::string::npos)
      << result.errors;
}

}  // namespace
}  // namespace qkv
