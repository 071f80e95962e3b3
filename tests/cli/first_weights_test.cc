// ./qkv train --from RUN: a run that begins with the weights of another.

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

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

  Array tensor(const std::string& run, const std::string& name) const {
    const auto file = read_safetensors(folder_ / (run + "/checkpoints/best.safetensors"));
    if (!file.ok()) return Array();
    for (const NamedArray& named : file->tensors) {
      if (named.name == name) return named.array;
    }
    return Array();
  }

  void expect_same(const std::string& a, const std::string& b, const std::string& name, bool same) {
    EXPECT_EQ(tensor(a, name).to_vector() == tensor(b, name).to_vector(), same) << name;
  }

  const std::string query_ = "blocks.0.attention.query.weight";
};

TEST_F(FirstWeightsTest, AllAreTakenWhereTheModelIsTheSame) {
  const ProcessResult result = keep("next", {"--from", "source", "--set", "seed=2"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr(" parameters from source/checkpoints/best.safetensors,"));
  EXPECT_THAT(result.output, Not(HasSubstr("not taken")));
  for (const char* name : {"token_embedding.weight", "position_embedding.weight", query_.c_str()}) {
    expect_same("source", "next", name, true);
  }
  expect_success(keep("random", {"--set", "seed=2"}));
  expect_same("source", "random", query_, false);
  EXPECT_THAT(in("next/config.toml"), HasSubstr("from = \"source\""));
}

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
  expect_same("source", "next", query_, true);
  expect_same("random", "next", "position_embedding.weight", true);
  expect_same("random", "next", "blocks.1.attention.query.weight", true);
}

TEST_F(FirstWeightsTest, EmbeddingsOfAnotherVocabularyAreNotTaken) {
  write_bytes(folder_ / "a.txt", "abba\nabab\nbaba\nbbaa\naabb\nabaa\nbabb\naaab\nbbba\n");
  write_bytes(folder_ / "x.txt", "xyyx\nxyxy\nyxyx\nyyxx\nxxyy\nxyxx\nyxyy\nxxxy\nyyyx\n");
  const std::vector<std::string> lines = {"--set", "data.task=lines", "--set", "data.path=a.txt"};
  expect_success(keep("a", lines));
  const ProcessResult result = keep("x", {"--set", "data.task=lines", "--set", "data.path=x.txt",
                                          "--set", "seed=2", "--from", "a"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("token_embedding.weight (another vocabulary)"));
  EXPECT_EQ(tensor("a", "token_embedding.weight").shape(),
            tensor("x", "token_embedding.weight").shape());
  expect_same("a", "x", "token_embedding.weight", false);
  expect_same("a", "x", query_, true);
}

TEST_F(FirstWeightsTest, TheMeanOfTheWeightsBeginsWithThem) {
  expect_success(
      keep("mean", {"--from", "source", "--set", "train.average=0.9", "--set", "seed=2"}));
  for (const char* name : {"token_embedding.weight", query_.c_str()}) {
    expect_same("source", "mean", name, true);
  }
}

TEST_F(FirstWeightsTest, ItIsAnErrorWhereNothingFits) {
  expect_error(keep("next", {"--from", "source", "--set", "model.d_model=20"}), 2,
               "train.from: no matrix of source/checkpoints/best.safetensors fits this model");
  expect_error(keep("next", {"--from", "sorce"}), 2,
               "train.from: sorce: no such run or checkpoint");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "next"));
}

TEST_F(FirstWeightsTest, ResumingDoesNotNeedTheSource) {
  const std::vector<std::string> further = {"--out",  "parts", "--from",
                                            "source", "--set", "optimizer.schedule=constant"};
  std::vector<std::string> first = further, second = further, whole = further;
  first.insert(first.end(), {"--set", "train.steps=20"});
  second.insert(second.end(), {"--resume"});
  whole[1] = "whole";
  expect_success(train(first));
  expect_success(train(whole));
  std::filesystem::remove_all(folder_ / "source");
  expect_success(train(second));
  for (const char* name : {"checkpoints/last.safetensors", "config.toml", "samples.txt"}) {
    EXPECT_EQ(in(std::string("parts/") + name), in(std::string("whole/") + name)) << name;
  }
  EXPECT_NE(in("parts/checkpoints/last.safetensors"), "");
}

}  // namespace
}  // namespace qkv
