// `qkv gradcheck` as a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/check/run_gradcheck.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/support/op_examples.h"
#include "tests/html_check.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

class GradcheckCommandTest : public testing::Test {
 protected:
  ProcessResult gradcheck(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {QKV_BINARY, "gradcheck"});
    ProcessOptions options;
    options.folder = folder_.path();
    return run_process(arguments, options);
  }

  void write_config(const std::string& name, const std::string& more) {
    write_bytes(
        folder_ / "tiny.toml",
        "name = \"" + name +
            "\"\n[data]\ntask = \"copy\"\nalphabet = 3\nlength = 2\n[model]\nnum_layers = 1\n"
            "d_model = 4\nnum_heads = 2\nd_ff = 4\n" +
            more);
  }

  TemporaryFolder folder_;
};

TEST_F(GradcheckCommandTest, ChecksEveryOpLayerModelAndStepAndWritesAPageOfThem) {
  const ProcessResult result = gradcheck({"--out", "page.html"});
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  for (const char* row : {"\nop    softmax ", "\nop    matmul ", "\nlayer MultiHeadAttention ",
                          "\nmodel Decoder ", "\nstep  TrainingStep "}) {
    EXPECT_THAT(result.output, HasSubstr(row));
  }
  EXPECT_THAT(result.output, Not(HasSubstr("FAIL")));
  EXPECT_THAT(result.output, HasSubstr(" s: PASS\n"));

  const std::string page = contents_of(folder_ / "page.html");
  EXPECT_EQ(first_wrong_tag(main_of(page)), "");
  EXPECT_EQ(outside_reference(main_of(page)), "");
  for (const OpExamples& op : op_examples()) {
    EXPECT_THAT(page, HasSubstr("\">" + op.op + "</a>")) << op.op;
    EXPECT_THAT(page, HasSubstr("<summary><b>" + op.op + "</b>")) << op.op;
  }
  for (const char* name : {">MultiHeadAttention</a>", ">Decoder</a>"}) {
    EXPECT_THAT(page, HasSubstr(name));
  }
  EXPECT_LT(page.size(), 3'000'000U);
}

TEST_F(GradcheckCommandTest, ChecksTheModelOfAConfigByTheNamesOfItsParameters) {
  write_config("tiny", "");
  const ProcessResult result = gradcheck({"--config", "tiny.toml", "--verbose"});
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("PASS  order 1  blocks.0.attention.key.bias f64[4]: 4 "
                                       "derivatives\n"));
  EXPECT_THAT(result.output, HasSubstr("blocks.0.feed_forward.up.weight f64[4, 4]"));
  EXPECT_THAT(result.output, HasSubstr("formula, order 1: agrees to "));
}

TEST_F(GradcheckCommandTest, APageOfACheckThatDidNotPassIsWrittenAndTheCheckStillFails) {
  // Dropout takes everything: the biases of the hidden layer are 0, the kink of relu.
  write_config("<script>a&b", "activation = \"relu\"\ndropout = 0.99\n");
  const ProcessResult result = gradcheck({"--config", "tiny.toml", "--out", "page.html"});
  EXPECT_EQ(result.exit_status, 1) << result.output;
  const std::string page = contents_of(folder_ / "page.html");
  EXPECT_EQ(first_wrong_tag(main_of(page)), "");
  EXPECT_EQ(outside_reference(main_of(page)), "");
  EXPECT_THAT(page, HasSubstr("Not passed: 1 of 1 functions"));
  EXPECT_THAT(page, HasSubstr("<h3>model &lt;script&gt;a&amp;b, tiny.toml, seed 1</h3>"));
  EXPECT_LT(page.find("blocks.0.feed_forward.up.bias"), page.find("How to read this page"));
}

TEST_F(GradcheckCommandTest, ComparesTheModelOfAConfigAsItIsTrained) {
  write_config("tiny", "");
  const ProcessResult result = gradcheck(
      {"--config", "tiny.toml", "--precision", "bf16", "--verbose", "--json", "out.json"});
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
  EXPECT_THAT(result.output,
              HasSubstr("PASS  the gradient of blocks.0.attention.key.bias f32[4]: 4 compared\n"));
  const auto report = nlohmann::json::parse(contents_of(folder_ / "out.json"));
  EXPECT_TRUE(report["passed"]);
  EXPECT_EQ(report["precision"], "bf16");
  double largest = 0.0;
  for (const auto& compared : report["checks"][0]["report"]["results"]) {
    for (const auto& e : compared["elements"]) {
      EXPECT_LE(double(e["error"]), double(e["bound"]));
      largest =
          std::max(largest, double(e["error"]) / std::max(1e-9, std::abs(double(e["exact"]))));
    }
  }
  EXPECT_GT(largest, 0x1p-10);  // it is bf16 that was compared
}

// All that `qkv gradcheck` prints, but for the time.
std::string text_with(int threads, const GradcheckRequest& request) {
  kernels::set_num_threads(threads);
  const absl::StatusOr<GradcheckOutcome> outcome = check_gradients(request);
  kernels::set_num_threads(0);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) return "";
  return outcome->text.substr(0, outcome->text.rfind(", in "));
}

TEST(RunGradcheckTest, AnyNumberOfThreadsGivesTheSameText) {
  const GradcheckRequest request = {
      .subjects = {.names = {"softmax", "log", "Linear"}}, .seeds = 2, .verbose = true};
  const std::string text = text_with(1, request);
  EXPECT_THAT(text, HasSubstr("formula, order 1: agrees to "));
  EXPECT_EQ(text, text_with(3, request));
}

}  // namespace
}  // namespace qkv
