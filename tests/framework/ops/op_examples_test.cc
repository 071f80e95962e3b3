// What every op must hold, proved on the examples that stand in its file.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "framework/autograd/backward.h"
#include "framework/autograd/gradcheck.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

std::string test_name(const std::string& op, const std::string& example) {
  std::string name = op + "_";
  for (const char c : example) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    if (c == ' ' || c == '_') name += '_';
  }
  return name;
}

struct ExampleCase {
  std::string op;
  OpExample example;
};

struct ErrorCase {
  std::string op;
  ErrorExample error;
};

void PrintTo(const ExampleCase& test, std::ostream* out) {
  *out << test.op << ": " << test.example.name;
}
void PrintTo(const ErrorCase& test, std::ostream* out) {
  *out << test.op << ": " << test.error.name;
}

std::vector<ExampleCase> all_examples() {
  std::vector<ExampleCase> cases;
  for (const OpExamples& op : op_examples()) {
    for (const OpExample& example : op.examples) cases.push_back({op.op, example});
  }
  return cases;
}

std::vector<ErrorCase> all_errors() {
  std::vector<ErrorCase> cases;
  for (const OpExamples& op : op_examples()) {
    for (const ErrorExample& error : op.errors) cases.push_back({op.op, error});
  }
  return cases;
}

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;  // of the inputs that have one
};

Results run(const OpExample& example, const std::vector<Tensor>& inputs) {
  Results results;
  results.y = example.f(inputs);
  if (!results.y.requires_grad()) return results;
  const Gradients g = backward(results.y, {.cotangent = normal_like(results.y, 5)});
  for (const Tensor& x : inputs) {
    if (g.contains(x)) results.gradients.push_back(g[x]);
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
  const OpExample& example() const { return GetParam().example; }
  std::vector<Tensor> inputs(DType dtype) const {
    return make_inputs(example(), dtype, RandomStream(11));
  }
};

TEST_P(OpExampleTest, GradientsOfFirstAndSecondOrderAreRight) {
  const GradcheckReport report = gradcheck(example().f, inputs(DType::f64), {.order = 2});
  EXPECT_TRUE(report.passed()) << report.to_text();
  EXPECT_GT(report.elements, 0);
}

TEST_P(OpExampleTest, F32AgreesWithF64) {
  const std::vector<Tensor> narrow = inputs(DType::f32);
  std::vector<Tensor> wide;  // the same numbers
  for (const Tensor& x : narrow) {
    const bool floating = x.requires_grad();
    wide.push_back(floating ? parameter(cast(x.detached(), DType::f64).array()) : x);
  }
  expect_close(run(example(), narrow), run(example(), wide), tolerance_of(DType::f32));
}

TEST_P(OpExampleTest, FusedAgreesWithComposed) {
  const Results fused = run(example(), inputs(DType::f64));
  const ComposedOnly composed_only;
  expect_close(fused, run(example(), inputs(DType::f64)), tolerance_of(DType::f64));
}

TEST_P(OpExampleTest, SeveralThreadsGiveTheBitsOfOne) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    kernels::set_num_threads(1);
    const Results one = run(example(), inputs(dtype));
    kernels::set_num_threads(3);
    const Results several = run(example(), inputs(dtype));
    kernels::set_num_threads(0);
    EXPECT_EQ(bits(one.y), bits(several.y));
    for (size_t i = 0; i < one.gradients.size(); ++i) {
      EXPECT_EQ(bits(one.gradients[i]), bits(several.gradients[i])) << "gradient " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpExampleTest, testing::ValuesIn(all_examples()),
                         [](const auto& test) {
                           return test_name(test.param.op, test.param.example.name);
                         });

class OpErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(OpErrorTest, SaysWhatClashes) {
  EXPECT_EQ(error_of(GetParam().error.misuse), GetParam().error.message);
}

INSTANTIATE_TEST_SUITE_P(All, OpErrorTest, testing::ValuesIn(all_errors()), [](const auto& test) {
  return test_name(test.param.op, test.param.error.name);
});

TEST(OpExamplesTest, EveryOpOfTheHeaderHasExamplesAndErrors) {
  std::ifstream header(QKV_SOURCE_DIR "/framework/ops/ops.h");
  const std::regex prototype(R"(^(Tensor|std::vector<Tensor>) (\w+)\()");
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (std::regex_search(line, match, prototype)) declared.insert(match[2]);
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
