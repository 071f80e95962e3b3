// What examples hold in f32 and with several threads, for every op.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "apps/check/mutation/coverage.h"
#include "framework/ops/ops.h"
#include "tests/framework/ops/example_cases.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

class ExampleChecksTest : public testing::TestWithParam<ExampleCase> {
 protected:
  const OpExample& example() const { return *GetParam().example; }
};

TEST_P(ExampleChecksTest, F32AgreesWithF64) {
  EXPECT_EQ(wrong_in_f32(example(), 11).value_or(""), "");
}

TEST_P(ExampleChecksTest, SeveralThreadsGiveTheBitsOfOne) {
  EXPECT_EQ(wrong_with_threads(example(), 11).value_or(""), "");
  const OpExample large = enlarged(example());
  // The kernels share none but the large among threads; a function that holds a size takes none.
  const std::string refusal =
      error_of([&] { large.f(make_inputs(large, DType::f32, RandomStream(11))); });
  if (refusal.empty()) {
    EXPECT_EQ(wrong_with_threads(large, 11).value_or(""), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExampleChecksTest, testing::ValuesIn(all_examples()),
                         [](const auto& test) {
                           return test_name(test.param.op, test.param.example->name);
                         });

// Those whose function holds a size of its own: sizes of the result, of a constant, the number of
// pieces.
const std::set<std::string> kOpsOfFixedSize = {"broadcast_to", "one_hot", "pad",   "reshape",
                                               "scatter_add",  "stack",   "sum_to"};

TEST(ExamplesTest, EveryOpIsCheckedAtSizesThatThreadsShare) {
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

TEST(ExamplesTest, ShapesOfFixedSizesGiveTheSameBitsForAnyThreads) {
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

}  // namespace
}  // namespace qkv
