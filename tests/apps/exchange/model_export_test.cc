// ./qkv export RUN: a model for other programs. tests/apps/exchange/onnx and
// tests/apps/exchange/c_program run what is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "apps/exchange/export_formats.h"
#include "framework/io/safetensors.h"
#include "framework/ops/ops.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

const std::string kCompile = "cc -O2 -std=c99 -Wall -Wextra -Werror -pedantic model.c -o model -lm";

class ModelExportTest : public CommandLineFixture {
 protected:
  ProcessResult shell(const std::string& command) {
    ProcessOptions options;
    options.folder = folder_.path();
    return run_process({"/bin/sh", "-c", command}, options);
  }
  void train(const std::string& folder, const std::vector<std::string>& settings = {}) {
    expect_success(train_tiny(folder, settings));
  }
};

TEST_F(ModelExportTest, TheProgramInCGivesAllItsMemoryBack) {
  write_bytes(folder_ / "q.tsv", "ab\tba\nb\ta\na\tb\nba\tab\naa\taa\nbb\tbb\n\x7f\t\x7f\n");
  train("run", {"data.task=pairs", "data.path=q.tsv", "data.train_fraction=0.5"});
  expect_success(qkv({"export", "run", "--c", "model.c"}));
  expect_success(shell(kCompile + " -fsanitize=address,undefined"));
  for (const char* arguments : {"ab", "ab 0", "ab 40"}) {
    expect_success(shell(absl::StrCat("./model ", arguments)));
  }
}

TEST(UnknownChoiceTest, IsNamedByItsKey) {
  EXPECT_EQ(unknown_choice({.kind = "classifier", .mixer = "recurrence"}), "");
  EXPECT_EQ(unknown_choice({.mixer = "decaying"}), "model.mixer = \"decaying\"");
  EXPECT_EQ(unknown_choice({.kind = "bigram"}), "model.kind = \"bigram\"");
}

TEST_F(ModelExportTest, FilesThatBelongTogetherAreAllWrittenOrNone) {
  train("run");
  train("other", {"seed=2"});
  const ProcessOptions full = {.largest_file_bytes = 2000};  // config.json has fewer
  const auto expect_failure = [&](const std::string& folder) {
    expect_error(qkv({"export", "run", "--hf", folder}, full), 1,
                 absl::StrCat("cannot write ", folder, "/model.safetensors: File too large"));
  };
  expect_failure("new");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  expect_success(qkv({"export", "other", "--hf", "hf"}));
  write_bytes(folder_ / "hf/config.json", in("hf/config.json") + " ");
  const std::string before = in("hf/config.json") + in("hf/model.safetensors");
  expect_failure("hf");
  EXPECT_EQ(in("hf/config.json") + in("hf/model.safetensors"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "hf"), {}), 3);
}

// Batches and logits as files for other programs.

class ExportTest : public CommandLineFixture {
 protected:
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
  expect_success(qkv({"train", "tiny.toml"}));
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

}  // namespace
}  // namespace qkv
