#include "apps/runs/replay/first_bad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

NumberRange range_of_numbers(const std::vector<double>& numbers) {
  return range_of(Array::of({std::ssize(numbers)}, DType::f64, numbers));
}

TEST(NumberRangeTest, IsThatOfTheFiniteNumbers) {
  const NumberRange range = range_of_numbers({1, -3, INFINITY, std::nan(""), 2, -INFINITY});
  EXPECT_EQ(range.least, -3);
  EXPECT_EQ(range.greatest, 2);
  EXPECT_EQ(range.not_finite, 3);
  EXPECT_DOUBLE_EQ(range.norm, std::sqrt(14.0));
  EXPECT_EQ(range_of_numbers({5, 7}).least, 5);
  EXPECT_EQ(range_of_numbers({-5, -7}).greatest, -5);
  EXPECT_DOUBLE_EQ(range_of_numbers({3e200, 4e200}).norm, 5e200);
}

using Operands = std::vector<Tensor>;

StepEntry entry_of(const std::string& op, const Operands& operands,
                   const std::function<Tensor(const Operands&)>& f) {
  StepEntry entry;
  entry.op = op;
  for (const Tensor& x : operands) {
    entry.operands.push_back({.name = std::string(1, "ab"[entry.operands.size()]), .tensor = x});
  }
  entry.output = f(operands);
  entry.again = f;
  return entry;
}

std::string cause_of(const StepEntry& entry) {
  StepRecording recording;
  recording.entries = {entry};
  return find_first_bad(recording).cause;
}

Tensor with_one(double number, DType dtype = DType::f32) {
  return constant({3}, {1, number, 2}, dtype);
}

TEST(FirstBadTest, TheCauseIsTheNumberAtWhichAnOpHasNone) {
  const auto one = [](auto op) { return [op](const Operands& x) { return op(x[0]); }; };
  const Operands both = {constant({2}, {1, 2}, DType::f32), constant({2}, {4, 0}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("div", both, [](const Operands& x) { return x[0] / x[1]; })),
            "It divides 2 by 0. ");
  const Operands small = {constant({1}, {3e38}, DType::f32), constant({1}, {0.5}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("div", small, [](const Operands& x) { return x[0] / x[1]; })),
            "In f64 it is 6e+38, beyond the largest number of f32, 3.4e+38. The numbers of a come "
            "up to 3e+38. ");
  const Operands lost = {with_one(INFINITY), constant({3}, {1, 0, 1}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("mul", lost, [](const Operands& x) { return x[0] * x[1]; })),
            "a itself holds inf at [1]; the op passes it on. ");
  EXPECT_EQ(cause_of(entry_of("log", {with_one(-3)}, one([](auto& x) { return log(x); }))),
            "It takes the logarithm of -3. ");
  EXPECT_EQ(cause_of(entry_of("log", {with_one(0)}, one([](auto& x) { return log(x); }))),
            "It takes the logarithm of 0. ");
  EXPECT_EQ(cause_of(entry_of("sqrt", {with_one(-4)}, one([](auto& x) { return sqrt(x); }))),
            "It takes the root of -4. ");
  EXPECT_EQ(cause_of(entry_of("rsqrt", {with_one(0)}, one([](auto& x) { return rsqrt(x); }))),
            "It divides by the root of 0. ");
  EXPECT_EQ(cause_of(entry_of("pow", {with_one(0)}, one([](auto& x) { return pow(x, -1.0); }))),
            "It is inf in f64, too. ");
}

TEST(FirstBadTest, TheCauseIsTheLargestNumberOfItsType) {
  const auto exponential = [](const Operands& x) { return exp(x[0]); };
  EXPECT_EQ(cause_of(entry_of("exp", {with_one(100)}, exponential)),
            "It takes the exponential of 100; the largest that f32 holds is that of 88.7. ");
  StepEntry narrow = entry_of("exp", {with_one(100)}, exponential);
  narrow.output = cast(narrow.output, DType::bf16);
  EXPECT_EQ(cause_of(narrow),
            "It takes the exponential of 100; the largest that bf16 holds is that of 88.7. ");
  EXPECT_EQ(cause_of(entry_of("exp", {with_one(800, DType::f64)}, exponential)),
            "It takes the exponential of 800; the largest that f64 holds is that of 710. ");
  const auto square = [](const Operands& x) { return x[0] * x[0]; };
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(1e30)}, square)),
            "In f64 it is 1e+60, beyond the largest number of f32, 3.4e+38. The numbers of a come "
            "up to 1e+30. ");
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(1e200, DType::f64)}, square)),
            "The numbers of a come up to 1e+200. ");
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(-1e30)},
                              [](const Operands& x) { return x[0] * x[0] * 1e-30; })),
            "In f64 it is 1e+30, so a number on the way to it is beyond the largest of f32, "
            "3.4e+38. The numbers of a come up to 1e+30. ");
}

TEST(FirstBadTest, TheCauseIsWhatAnOperandHoldsUnlessThatIsMeantToHide) {
  StepEntry entry = entry_of("add", {with_one(-INFINITY), with_one(3e38)},
                             [](const Operands& x) { return x[0] + x[1]; });
  EXPECT_EQ(cause_of(entry), "a itself holds -inf at [1]; the op passes it on. ");
  entry.operands[0].is_masked = true;
  EXPECT_EQ(cause_of(entry), "It is -inf in f64, too. The numbers of b come up to 3e+38. ");
  entry.part = StepPart::kNorm;
  EXPECT_EQ(cause_of(entry),
            "Each gradient is finite, but the sum of their squares is not. The numbers of b come "
            "up to 3e+38. ");
}

TEST(FirstBadTest, AnUpdateIsMadeElementByElement) {
  StepEntry entry = entry_of("adamw", {with_one(INFINITY), with_one(5)},
                             [](const Operands& x) { return x[0] + x[1]; });
  entry.again = {};
  EXPECT_EQ(cause_of(entry), "");
  entry.part = StepPart::kUpdate;
  EXPECT_EQ(cause_of(entry), "a itself holds inf at [1]; the op passes it on. ");
}

}  // namespace
}  // namespace qkv
