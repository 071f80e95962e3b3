// ./qkv train --from RUN: a run that begins with the weights of another.

#include <gmock/gmock.h>

#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using testing::HasSubstr;

class FirstWeightsTest : public CommandLineFixture {
 protected:
  FirstWeightsTest() { expect_success(qkv({"train", "tiny.toml", "--out", "source"})); }

  ProcessResult train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"train", "tiny.toml"});
    return qkv(arguments);
  }

  // A rate of 0 keeps the weights that the run began with.
  ProcessResult keep(const std::string& out, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--out", out, "--set", "optimizer.learning_rate=0", "--set",
                                       "train.steps=1"});
    return train(arguments);
  }

  void expect_same(const std::string& a, const std::string& b, const std::string& name) {
    const std::string best = "/checkpoints/best.safetensors";
    EXPECT_EQ(numbers_in(folder_ / (a + best)).at(name), numbers_in(folder_ / (b + best)).at(name))
        << name;
  }
};

TEST_F(FirstWeightsTest, WhatDoesNotFitIsListedAndBeginsAsWithoutThem) {
  const std::vector<std::string> larger = {"--set", "model.num_layers=2", "--set", "data.length=4",
                                           "--set", "model.num_heads=4"};
  std::vector<std::string> from = larger;
  from.insert(from.end(), {"--from", "source/checkpoints/last.safetensors"});
  const ProcessResult result = keep("next", from);
  expect_success(result);
  EXPECT_THAT(
      result.output,
      HasSubstr("not taken from there: position_embedding.weight (f32[6, 16], here f32[8,"));
  EXPECT_THAT(result.output,
              HasSubstr("not there, so they begin anew: blocks.1.attention_norm.weight,"));
  EXPECT_THAT(
      result.output,
      HasSubstr(
          "\nthe model differs: model.num_layers is 2, but was 1, model.num_heads is 4, but"));
  expect_success(keep("random", larger));
  expect_same("source", "next", "blocks.0.attention.query.weight");
  expect_same("random", "next", "position_embedding.weight");
  expect_same("random", "next", "blocks.1.attention.query.weight");
}

}  // namespace
}  // namespace qkv
