// What every op must hold, proved on the examples that stand in its file.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/example_checks.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/op.h"
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

// Each process registers every test, and each test copies its case: they point to the examples.
const std::vector<OpExamples>& examples() {
  static const auto& examples = *new std::vector<OpExamples>(op_examples());
  return examples;
}

struct ExampleCase {
  std::string op;
  const OpExample* example;
};

struct ErrorCase {
  std::string op;
  const ErrorExample* error;
};

void PrintTo(const ExampleCase& test, std::ostream* out) {
  *out << test.op << ": " << test.example->name;
}
void PrintTo(const ErrorCase& test, std::ostream* out) {
  *out << test.op << ": " << test.error->name;
}

std::vector<ExampleCase> all_examples() {
  std::vector<ExampleCase> cases;
  for (const OpExamples& op : examples()) {
    for (const OpExample& example : op.examples) cases.push_back({op.op, &example});
  }
  return cases;
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
  const OpExample& example() const { return *GetParam().example; }
  std::vector<Tensor> inputs(DType dtype) const {
    return make_inputs(example(), dtype, RandomStream(11));
  }
};

TEST_P(OpExampleTest, GradientsOfFirstAndSecondOrderAreRight) {
  const GradcheckReport report = gradcheck(example().f, inputs(DType::f64), {.order = 2});
  EXPECT_TRUE(report.passed()) << report.to_text();
  EXPECT_EQ(report.computed_in, "f128");
}

TEST_P(OpExampleTest, F32AgreesWithF64) { EXPECT_EQ(wrong_in_f32(example(), 11).value_or(""), ""); }

TEST_P(OpExampleTest, FusedAgreesWithComposed) {
  const Results fused = run(example(), inputs(DType::f64));
  const ComposedOnly composed_only;
  expect_close(fused, run(example(), inputs(DType::f64)), tolerance_of(DType::f64));
}

TEST_P(OpExampleTest, SeveralThreadsGiveTheBitsOfOne) {
  EXPECT_EQ(wrong_with_threads(example(), 11).value_or(""), "");
  const OpExample large = enlarged(example());
  // The kernels share none but the large among threads; a function that holds a size takes none.
  const std::string refusal =
      error_of([&] { large.f(make_inputs(large, DType::f32, RandomStream(11))); });
  if (refusal.empty()) {
    EXPECT_EQ(wrong_with_threads(large, 11).value_or(""), "");
  }
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

// Those whose function holds a size of its own: sizes of the result, of a constant, the number of
// pieces.
const std::set<std::string> kOpsOfFixedSize = {"broadcast_to", "one_hot", "pad",   "reshape",
                                               "scatter_add",  "stack",   "sum_to"};

TEST(OpExamplesTest, EveryOpIsCheckedAtSizesThatThreadsShare) {
  for (const OpExamples& op : op_examples()) {
    int64_t largest = 0;
    for (const OpExample& example : op.examples) {
      const OpExample large = enlarged(example);
      const auto call = [&] {
        const std::vector<Tensor> inputs = make_inputs(large, DType::f32, RandomStream(1));
        largest = std::max(largest, large.f(inputs).size());
        for (const Tensor& x : inputs) largest = std::max(largest, x.size());
      };
      error_of(call);
    }
    if (kOpsOfFixedSize.contains(op.op)) continue;
    EXPECT_GE(largest, 32768) << op.op;
  }
}

TEST(OpExamplesTest, ShapesOfFixedSizesGiveTheSameBitsForAnyThreads) {
  const auto large = [](const char* name, std::vector<ExampleInput> inputs,
                        std::function<Tensor(std::span<const Tensor>)> f) {
    EXPECT_EQ(wrong_with_threads({name, std::move(inputs), std::move(f)}, 3).value_or(""), "")
        << name;
  };
  const ExampleInput row = {Fill::kNormal, {257}}, matrix = {Fill::kNormal, {300, 257}};
  large("broadcast_to", {row}, [](auto x) { return broadcast_to(x[0], {300, 257}); });
  large("sum_to a row", {matrix}, [](auto x) { return sum_to(x[0], {257}); });
  large("sum_to a column", {matrix}, [](auto x) { return sum_to(x[0], {300, 1}); });
  large("sum_to a scalar", {matrix}, [](auto x) { return sum_to(x[0], {}); });
  large("stack", {matrix, matrix}, [](auto x) { return stack({x[0], x[1]}, 1); });
  large("pad", {matrix}, [](auto x) { return pad(x[0], 1, 3, 270); });
  large("reshape", {matrix}, [](auto x) { return reshape(x[0], {257, 300}); });
  large("one_hot", {{Fill::kIndices, {3000}, 40}, {Fill::kNormal, {40}}},
        [](auto x) { return one_hot(x[0], 40, x[1].dtype()) * x[1]; });
  large("scatter_add", {matrix, {Fill::kIndices, {300, 257}, 9}},
        [](auto x) { return scatter_add(x[0], 0, x[1], 9); });
}

TEST(OpExamplesTest, AreInAlphabeticalOrder) {
  const std::vector<OpExamples> ops = op_examples();
  EXPECT_TRUE(std::ranges::is_sorted(ops, {}, &OpExamples::op));
}

}  // namespace
}  // namespace qkv
