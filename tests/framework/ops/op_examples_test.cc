// What every op must hold, proved on the examples that stand in its file.

#include "framework/ops/support/op_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "tests/framework/ops/example_cases.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

struct ErrorCase {
  std::string op;
  const ErrorExample* error;
};

void PrintTo(const ErrorCase& test, std::ostream* out) {
  *out << test.op << ": " << test.error->name;
}

std::vector<ErrorCase> all_errors() {
  std::vector<ErrorCase> cases;
  for (const OpExamples& op : examples()) {
    for (const ErrorExample& error : op.errors) cases.push_back({op.op, &error});
  }
  return cases;
}

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;  // of the inputs that have one
  std::vector<size_t> ignored;    // of those that might have one
};

Results run(const OpExample& example, const std::vector<Tensor>& inputs) {
  Results results;
  results.y = example.f(inputs);
  if (!results.y.requires_grad()) return results;
  const Gradients g = backward(results.y, {.cotangent = normal_like(results.y, 5)});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (g.contains(inputs[i])) results.gradients.push_back(g[inputs[i]]);
    if (inputs[i].requires_grad() && !g.contains(inputs[i])) results.ignored.push_back(i);
  }
  return results;
}

void expect_close(const Results& actual, const Results& expected, const Tolerance& tolerance) {
  expect_close(actual.y, expected.y, tolerance);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (size_t i = 0; i < actual.gradients.size(); ++i) {
    expect_close(actual.gradients[i], expected.gradients[i], tolerance);
  }
}

class OpExampleTest : public testing::TestWithParam<ExampleCase> {
 protected:
  const OpExample& example() const { return *GetParam().example; }
  std::vector<Tensor> inputs(DType dtype) const {
    return make_inputs(example(), dtype, RandomStream(11));
  }
};

TEST_P(OpExampleTest, FusedAgreesWithComposed) {
  const Results fused = run(example(), inputs(DType::f64));
  EXPECT_THAT(fused.ignored, testing::IsEmpty()) << "an input that has no part in the example";
  const ComposedOnly composed_only;
  expect_close(fused, run(example(), inputs(DType::f64)), tolerance_of(DType::f64));
}

INSTANTIATE_TEST_SUITE_P(All, OpExampleTest, testing::ValuesIn(all_examples()),
                         [](const auto& test) {
                           return test_name(test.param.op, test.param.example->name);
                         });

class OpErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(OpErrorTest, SaysWhatClashes) {
  const ErrorExample& example = *GetParam().error;
  EXPECT_EQ(error_of(example.misuse), example.message);
}

INSTANTIATE_TEST_SUITE_P(All, OpErrorTest, testing::ValuesIn(all_errors()), [](const auto& test) {
  return test_name(test.param.op, test.param.error->name);
});

TEST(OpExamplesTest, EveryOpOfTheHeaderHasExamplesAndErrors) {
  std::ifstream header(QKV_SOURCE_DIR "/framework/ops/ops.h");
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);) {
    for (const std::string result : {"Tensor ", "std::vector<Tensor> "}) {
      if (!line.starts_with(result)) continue;
      const size_t parenthesis = line.find('(');
      if (parenthesis == std::string::npos) continue;
      declared.insert(line.substr(result.size(), parenthesis - result.size()));
    }
  }
  EXPECT_GT(declared.size(), 40u);

  std::set<std::string> shown;
  for (const OpExamples& op : op_examples()) {
    shown.insert(op.op);
    EXPECT_FALSE(op.examples.empty()) << op.op;
    EXPECT_FALSE(op.errors.empty()) << op.op;
  }
  EXPECT_EQ(shown, declared);
}

TEST(OpExamplesTest, AreInAlphabeticalOrder) {
  const std::vector<OpExamples> ops = op_examples();
  EXPECT_TRUE(std::ranges::is_sorted(ops, {}, &OpExamples::op));
}

}  // namespace
}  // namespace qkv
