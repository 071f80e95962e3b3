// A backward that gives no gradient is a FAIL in the report, whatever it does instead.

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/node.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Gradient = std::function<std::vector<Tensor>(const Tensor& dy)>;

// y = a + b, whose backward may do anything.
class SumOfAll final : public Op {
 public:
  explicit SumOfAll(Gradient gradient) : gradient_(std::move(gradient)) {}
  std::string_view name() const override { return "my_sum"; }
  Array forward(const Inputs& x) override { return add(Tensor(x[0]), Tensor(x[1])).array(); }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return gradient_(dy);
  }

 private:
  Gradient gradient_;
};

GradcheckReport check_sum(const Gradient& gradient) {
  const std::vector<Tensor> inputs = {random({2, 3}, 1), random({2, 3}, 2)};
  return gradcheck(
      [&](TensorSpan x) {
        return apply<SumOfAll>({x[0], x[1]}, gradient);
      },
      inputs, {.names = {"a", "b"}});
}

void expect_failing_with(const Gradient& gradient, const std::string& sentence) {
  const GradcheckReport report = check_sum(gradient);
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  EXPECT_EQ(report.to_text(), "FAIL  order 1  a f64[2, 3]: " + sentence +
                                  "\nFAIL  order 1  b f64[2, 3]: " + sentence +
                                  "\nFAIL: 2 of 2: 0 derivatives\n");
}

TEST(BackwardErrorTest, AGradientOfTheWrongShapeFails) {
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, transpose(dy, 0, 1)};
      },
      "my_sum: backward gave f128[3, 2] for input 1 f128[2, 3]");
}

TEST(BackwardErrorTest, TheWrongNumberOfGradientsFails) {
  expect_failing_with([](const Tensor& dy) { return std::vector{dy}; },
                      "my_sum: backward gave 1 gradient for 2 inputs");
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, dy, dy};
      },
      "my_sum: backward gave 3 gradients for 2 inputs");
}

TEST(BackwardErrorTest, ABackwardThatThrowsFails) {
  expect_failing_with(
      [](const Tensor& dy) {
        return std::vector{dy, matmul(dy, dy)};
      },
      "backward of my_sum: matmul: inner sizes differ: a f128[2, 3], b f128[2, 3]: 3 and "
      "2; did you mean transpose_b?");
  expect_failing_with(
      [](const Tensor&) -> std::vector<Tensor> { throw std::runtime_error("no idea"); },
      "backward of my_sum: no idea");
}

// The gradient is right, and cannot be differentiated again.
TEST(BackwardErrorTest, ABackwardOfTheBackwardThatThrowsFails) {
  const Gradient none = [](const Tensor&) -> std::vector<Tensor> {
    throw std::runtime_error("no idea");
  };
  expect_failing_with(
      [&](const Tensor& dy) {
        const Tensor same = apply<SumOfAll>({dy, zeros(dy.shape(), dy.dtype())}, none);
        return std::vector{same, same};
      },
      "backward of my_sum: no idea");
}

TEST(BackwardErrorTest, OfBackwardAloneItIsAnErrorThatNamesTheOp) {
  const Tensor x = leaf({2}, {1, 2});
  expect_error("my_sum: backward gave 1 gradient for 2 inputs", [&] {
    backward(sum(apply<SumOfAll>({x, x}, [](const Tensor& dy) { return std::vector{dy}; })));
  });
}

}  // namespace
}  // namespace qkv
