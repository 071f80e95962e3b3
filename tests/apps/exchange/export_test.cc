// Batches and logits as files for other programs.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "framework/io/safetensors.h"
#include "framework/ops/ops.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

class ExportTest : public CommandLineFixture {
 protected:
  void train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"train", "tiny.toml"};
    command.insert(command.end(), more.begin(), more.end());
    expect_success(qkv(command));
  }

  std::map<std::string, Tensor> tensors_of(const std::string& name) {
    std::map<std::string, Tensor> tensors;
    const absl::StatusOr<TensorFile> file = read_safetensors(folder_ / name);
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return tensors;
    for (const NamedArray& named : file->tensors) tensors[named.name] = Tensor(named.array);
    return tensors;
  }
};

TEST_F(ExportTest, TheLogitsOfARunAreComputedInF64AndHaveItsLoss) {
  train();
  const auto evaluated = nlohmann::json::parse(qkv({"eval", "runs/tiny", "--json", "-"}).output);
  const ProcessResult result = qkv({"eval", "runs/tiny", "--export", "e.safetensors"});
  expect_success(result);
  EXPECT_EQ(result.output, "wrote 1 batches to e.safetensors\n");
  std::map<std::string, Tensor> tensors = tensors_of("e.safetensors");
  ASSERT_EQ(tensors.size(), 3u);
  const Tensor &inputs = tensors["inputs.0"], &logits = tensors["logits.0"];
  EXPECT_EQ(logits.dtype(), DType::f64);
  EXPECT_EQ(logits.shape(), (Shape{inputs.dim(0), inputs.dim(1), 5}));
  const double loss = cross_entropy(logits, tensors["targets.0"], {.ignored = -1}).item();
  EXPECT_NEAR(loss, evaluated["loss"].get<double>(), 1e-5);
}

TEST_F(ExportTest, WhatAnEncoderDecoderReadsHasNumbersOfItsOwn) {
  train({"--set", "model.kind=encoder_decoder", "--set", "data.min_length=2"});
  expect_success(qkv({"eval", "runs/tiny", "--export", "e.safetensors"}));
  std::map<std::string, Tensor> tensors = tensors_of("e.safetensors");
  EXPECT_EQ(tensors["inputs.0"].dim(1), 4);    // the source
  EXPECT_EQ(tensors["inputs.0.1"].dim(1), 3);  // the target
  EXPECT_EQ(tensors["inputs.0.2"].dtype(), DType::boolean);
  EXPECT_EQ(tensors["inputs.0.2"].shape(), tensors["inputs.0"].shape());
  EXPECT_EQ(tensors["logits.0"].shape(), (Shape{tensors["targets.0"].dim(0), 3, 6}));
}

TEST_F(ExportTest, NoMoreBatchesAreWrittenThanAreAskedFor) {
  train();
  expect_success(qkv(
      {"eval", "runs/tiny", "--split", "train", "--export", "e.safetensors", "--batches", "3"}));
  EXPECT_EQ(tensors_of("e.safetensors").size(), 9u);
}

}  // namespace
}  // namespace qkv
