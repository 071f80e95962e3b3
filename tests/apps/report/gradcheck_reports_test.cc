#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/gradcheck/wrong_op.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/nn/layer_examples.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

// y = x², whose backward forgets the 2.
class WrongSquare final : public Op {
 public:
  std::string_view name() const override { return "wrong_square"; }
  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    return (Tensor(x[0]) * Tensor(x[0])).array();
  }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {saved.input(0) * dy};
  }
};

TEST(FindWrongOpsTest, NamesTheOneOpThatIsWrongAndItsPlace) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    const Tensor h = tanh(matmul(x[0], x[1]));
    const Scope scope("blocks.3");
    return softmax(apply<WrongSquare>({h}) + h);
  };
  const std::vector<Tensor> inputs = {leaf({2, 2}, {1, 2, 3, 4}),
                                      leaf({2, 2}, {0.1, -0.2, 0.3, 0.2})};
  EXPECT_FALSE(gradcheck(f, inputs).passed());
  const std::vector<OpCheck> wrong = find_wrong_ops(f, inputs);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].to_text(), "wrong_square f64[2, 2] (in blocks.3)");
  EXPECT_FALSE(wrong[0].report.passed());
}

TEST(FindWrongOpsTest, TheReportNamesTheFirstInF32Too) {
  const Tensor x = constant({4}, {0.5, -1.0, 2.0, 1.5}, DType::f32);
  const TensorFunction f = [](std::span<const Tensor> in) {
    return apply<Planted>(
        {exp(in[0])}, [](std::span<const Tensor> t) { return t[0] * t[0] * 0.5; },
        [](const Tensor& t, const Tensor& dy) { return 2.0 * t * dy; });
  };
  const GradcheckReport report = gradcheck(f, {&x, 1}, {.name_wrong_op = name_wrong_op});
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  EXPECT_THAT(report.wrong_op, testing::HasSubstr("alone is planted f32[4]\n"));
}

TEST(FindWrongOpsTest, FindsNothingWhereAllIsRight) {
  for (const OpExamples& layer : layer_examples()) {
    for (const OpExample& example : layer.examples) {
      const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(4));
      const std::vector<OpCheck> wrong = find_wrong_ops(example.f, inputs);
      EXPECT_TRUE(wrong.empty()) << layer.op << ": " << wrong[0].to_text() << "\n"
                                 << wrong[0].report.to_text();
    }
  }
}

TEST(FindWrongOpsTest, AMaskAndConstantsAreNoOps) {
  const Tensor x = leaf({2}, {1, 2});
  EXPECT_TRUE(find_wrong_ops([](auto in) { return in[0]; }, {&x, 1}).empty());
  EXPECT_TRUE(find_wrong_ops([](auto) { return ones({2}, DType::f64); }, {&x, 1}).empty());
}

using testing::HasSubstr;

TEST(GradcheckDocumentsTest, ABackwardErrorIsInThePageAndInTheDocument) {
  const Tensor x = constant({2, 3}, {1, 2, 3, 4, 5, 6}, DType::f64);
  const GradcheckReport report = check_planted(
      [](auto in) { return in[0]; },
      [](const Tensor&, const Tensor& dy) { return transpose(dy, 0, 1); }, x, {.names = {"x"}});
  const std::string sentence = "planted: backward gave f128[3, 2] for input 0 f128[2, 3]";
  const auto json = nlohmann::json::parse(gradcheck_json(report));
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["backward_error"], sentence);
  EXPECT_EQ(json["inputs"][0]["note"], sentence);
  const std::string page = gradcheck_html(report, "a < b");
  EXPECT_EQ(first_wrong_tag(page), "");
  EXPECT_EQ(outside_reference(page), "");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(page, HasSubstr("<pre>" + report.to_text() + "</pre>"));
}

}  // namespace
}  // namespace qkv
