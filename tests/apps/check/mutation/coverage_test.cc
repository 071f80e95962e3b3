#include "apps/check/mutation/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "framework/graph/node.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

OpExamples one_example(std::function<Tensor(std::span<const Tensor>)> f) {
  return {.op = "planted", .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, std::move(f)}}};
}

CoverageRow row_of(const OpExamples& examples) { return coverage({&examples, 1})[0]; }

// 2 x with a backward of 3 dy in f32, where no f64 check sees it.
class WrongInF32 final : public Op {
 public:
  std::string_view name() const override { return "wrong_in_f32"; }
  Array forward(const Inputs& x) override { return scale(Tensor(x[0]), 2.0).array(); }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {scale(dy, dy.dtype() == DType::f32 ? 3.0 : 2.0)};
  }
};

// x times the number of threads.
class CountsThreads final : public Op {
 public:
  std::string_view name() const override { return "counts_threads"; }
  Array forward(const Inputs& x) override {
    return scale(Tensor(x[0]), kernels::num_threads()).array();
  }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {scale(dy, kernels::num_threads())};
  }
};

TEST(CoverageTest, WhatIsRightPassesInEveryColumn) {
  const CoverageRow row = row_of(one_example([](auto x) { return x[0] * x[0]; }));
  EXPECT_TRUE(row.complete());
  EXPECT_TRUE(row.failures.empty());
}

TEST(CoverageTest, AWrongGradientFailsItsOrder) {
  const CoverageRow row = row_of(one_example([](auto x) { return x[0] * x[0].detached(); }));
  EXPECT_EQ(row.order_1, Covered::kFail);
  EXPECT_EQ(row.f32, Covered::kPass);
  EXPECT_FALSE(row.complete());
  EXPECT_THAT(row.failures[0], HasSubstr("order 1, a matrix: FAIL"));
}

TEST(CoverageTest, AWrongF32Fails) {
  const CoverageRow row = row_of(one_example([](auto x) { return apply<WrongInF32>({x[0]}); }));
  EXPECT_EQ(row.order_1, Covered::kPass);
  EXPECT_EQ(row.order_2, Covered::kPass);
  EXPECT_EQ(row.f32, Covered::kFail);
  EXPECT_THAT(row.failures[0], HasSubstr("f32, a matrix: gradient 0, element 0: "));
}

TEST(CoverageTest, WhatDependsOnTheThreadsFails) {
  const CoverageRow row = row_of(one_example([](auto x) { return apply<CountsThreads>({x[0]}); }));
  EXPECT_EQ(row.determinism, Covered::kFail);
  EXPECT_THAT(row.failures.back(),
              HasSubstr("the result f32[159, 212] has other bits with 3 threads than with 1"));
}

TEST(CoverageTest, WhatNoExampleShowsIsNotCovered) {
  const CoverageRow row = row_of({.op = "empty", .examples = {}});
  EXPECT_EQ(row.order_1, Covered::kNo);
  EXPECT_FALSE(row.complete());
}

TEST(CoverageTest, TheTableHasALineForEachOpAndTheFailures) {
  const std::vector<CoverageRow> rows = {
      {"exp", Covered::kPass, Covered::kPass, Covered::kPass, Covered::kPass, {}},
      {"log", Covered::kPass, Covered::kFail, Covered::kPass, Covered::kNo, {"order 2, a: FAIL"}}};
  EXPECT_EQ(coverage_text(rows),
            "     order 1  order 2  f32 ~ f64  determinism\n"
            "exp  pass     pass     pass       pass\n"
            "log  pass     FAIL     pass       -\n"
            "log: order 2, a: FAIL\n");
}

TEST(CoverageTest, EnlargedKeepsWhatWasEqualEqual) {
  const OpExample rows = {
      "rows", {{Fill::kNormal, {3, 1, 4}}, {Fill::kIndices, {4}, 7}}, [](auto x) { return x[0]; }};
  const OpExample large = enlarged(rows);
  EXPECT_EQ(large.inputs[0].shape, (Shape{159, 1, 212}));
  EXPECT_EQ(large.inputs[1].shape, (Shape{212}));
  EXPECT_EQ(large.inputs[1].bound, 7);
}

}  // namespace
}  // namespace qkv
