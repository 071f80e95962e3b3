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
