// `qkv gradcheck` as a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/check/run_gradcheck.h"
#include "framework/autograd/backward.h"
#include "framework/core/each_of.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "models/model.h"
#include "tests/html_check.h"
#include "tests/models/every_choice.h"
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

// Every op that a model uses is an op whose examples are checked.

constexpr int64_t kVocabulary = 7, kLength = 6;

// Sees the name of every op that runs, and of every op whose backward does.
class OpNames final : public Middleware {
 public:
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    names.emplace(op->name());
    return next(op, x);
  }
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    names.emplace(op.name());
    return next(op, saved, dy);
  }
  std::set<std::string> names;
};

std::vector<ChosenModel> variants() {
  ModelOptions small = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12};
  small.patch_size = 2;
  std::vector<ChosenModel> all = every_choice(small);
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost, NormPlace::kNone}) {
    for (const NormKind norm_kind : {NormKind::kLayer, NormKind::kRms}) {
      for (const Named<Position>& position : kNames<Position>) {
        for (const Activation activation :
             {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu, Activation::kSilu}) {
          for (const bool plain : {true, false}) {
            ModelOptions options = small;
            options.norm = norm;
            options.norm_kind = norm_kind;
            options.position = position.value;
            options.activation = activation;
            options.dropout = plain ? 0.0 : 0.2;
            options.tie_embeddings = options.bias = options.scale_scores = plain;
            all.push_back({"", options});
          }
        }
      }
    }
  }
  return all;
}

void train_and_evaluate(const ChosenModel& chosen, DType dtype) {
  const Model model(chosen.options, data_for(chosen, kLength, kVocabulary),
                    Initializer(RandomStream(1), dtype));
  const ModelBatch batch = batch_for(chosen, 2, kLength, kVocabulary);
  for (const bool training : {true, false}) {
    ForwardContext context{.training = training, .random = RandomStream(2)};
    backward(cross_entropy(model(batch.inputs, context), batch.targets));
  }
}

TEST(ModelCoverageTest, EveryOpOfEveryModelHasExamples) {
  std::set<std::string> used;
  {
    OpNames ops;
    for (const ChosenModel& chosen : variants()) {
      for (const DType dtype : {DType::f32, DType::f64}) train_and_evaluate(chosen, dtype);
    }
    used = std::move(ops.names);
  }
  EXPECT_GT(used.size(), 15u);
  EXPECT_TRUE(used.contains("dropout"));

  const std::vector<std::string> checked = each_of(op_examples(), &OpExamples::op);
  for (std::string name : used) {
    // Where a backward is an op of its own, the examples of the op run it.
    if (name.ends_with("_backward")) name.resize(name.size() - std::string("_backward").size());
    EXPECT_EQ(std::ranges::count(checked, name), 1) << name << " has no examples";
  }
}

}  // namespace
}  // namespace qkv
