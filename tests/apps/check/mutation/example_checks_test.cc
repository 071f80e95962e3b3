// What examples hold in f32 and with several threads, for every op.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/check/mutation/example_results.h"
#include "framework/graph/node.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "tests/framework/ops/example_cases.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::StartsWith;

constexpr int64_t kLarge = 32768;  // elements: two pieces of every kernel

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(a.array().raw(), b.array().raw(), a.array().bytes()) == 0);
}

// Kernels run with `count` threads while this lives.
class Threads {
 public:
  explicit Threads(int count) : outer_(kernels::num_threads()) { kernels::set_num_threads(count); }
  ~Threads() { kernels::set_num_threads(outer_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int outer_;
};

// They have the same bits with one thread and with three, in f32 and f64; or what has not.
std::optional<std::string> wrong_with_threads(const OpExample& example, uint64_t seed) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Tensor> inputs = make_inputs(example, dtype, RandomStream(seed));
    const auto with = [&](int threads) {
      const Threads count(threads);
      return results_of(example, inputs, seed);
    };
    const auto one = with(1), three = with(3);
    for (size_t i = 0; i < one.size(); ++i) {
      if (same_bits(one[i].value, three[i].value)) continue;
      return absl::StrCat(one[i].name, " ", one[i].value.describe(),
                          " has other bits with 3 threads than with 1");
    }
  }
  return std::nullopt;
}

// The example with every size above 1 multiplied, until its largest input or its result has 32,768
// elements, which kernels share among threads. Sizes that were equal stay equal. Where the function
// itself holds a size, calling it may throw Error.
OpExample enlarged(const OpExample& example) {
  std::vector<Shape> all = {
      example.f(make_inputs(example, DType::f32, RandomStream(1))).shape()};  // the result
  for (const ExampleInput& input : example.inputs) all.push_back(input.shape);
  int64_t factor = kLarge;
  for (const Shape& shape : all) {
    const auto axes = std::ranges::count_if(shape, [](int64_t size) { return size > 1; });
    if (axes == 0 || shape.size() == 0) continue;
    const double times = static_cast<double>(kLarge) / static_cast<double>(shape.size());
    const double factor_per_axis = std::ceil(std::pow(times, 1.0 / static_cast<double>(axes)));
    factor = std::min(factor, static_cast<int64_t>(factor_per_axis));  // the largest decides
  }
  OpExample large = example;
  for (ExampleInput& input : large.inputs) {
    for (int axis = 0; axis < input.shape.rank(); ++axis) {
      const int64_t size = input.shape[axis];
      if (size > 1) input.shape = input.shape.with(axis, size * factor);
    }
  }
  return large;
}

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

// Those whose function holds a size: of the result, of a constant, the number of pieces.
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

// 2 x with a backward of 3 dy in f32, where no f64 check sees it.
class WrongInF32 final : public Op {
 public:
  std::string_view name() const override { return "wrong_in_f32"; }
  Array forward(const Inputs& x) override { return scale(Tensor(x[0]), 2.0).array(); }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {scale(dy, dy.dtype() == DType::f32 ? 3.0 : 2.0)};
  }
};

OpExample planted(std::function<Tensor(std::span<const Tensor>)> f) {
  return {"a matrix", {{Fill::kNormal, {3, 4}}}, std::move(f)};
}

TEST(ExamplesTest, WhatIsPlantedIsFound) {
  EXPECT_EQ(wrong_in_f32(planted([](auto x) { return x[0] * x[0]; }), 1), std::nullopt);
  EXPECT_THAT(
      wrong_in_f32(planted([](auto x) { return apply<WrongInF32>({x[0]}); }), 1).value_or(""),
      StartsWith("gradient 0, element 0: "));
}

}  // namespace
}  // namespace qkv
