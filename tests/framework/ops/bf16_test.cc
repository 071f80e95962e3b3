// Ops on bf16 tensors: what linear layers hand to each other in bf16.

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

Tensor f64(const Tensor& x) { return cast(x.detached(), DType::f64); }
Tensor normal(const Shape& shape, uint64_t seed) {  // numbers of bf16, in f64
  return f64(cast(normal_like(zeros(shape, DType::f64), seed), DType::bf16));
}

struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Tensor(std::span<const Tensor>)> f;
};

std::vector<Case> cases() {
  const Shape matrix{5, 7}, heads{2, 6, 3, 4};
  return {
      {"relu", {matrix}, [](auto x) { return relu(x[0]); }},
      {"gelu", {matrix}, [](auto x) { return gelu(x[0]); }},
      {"gelu_tanh", {matrix}, [](auto x) { return gelu(x[0], GeluForm::kTanh); }},
      {"silu", {matrix}, [](auto x) { return silu(x[0]); }},
      {"add", {matrix, matrix}, [](auto x) { return x[0] + x[1]; }},
      {"sum_to", {matrix}, [](auto x) { return sum_to(x[0], {7}); }},
      {"sum_to of one term", {Shape{7}}, [](auto x) { return sum_to(x[0], {7}); }},
      {"used twice", {matrix}, [](auto x) { return gelu(x[0]) + relu(x[0]); }},
      {"attention",
       {heads, heads, heads},
       [](auto x) {
         return attention(x[0], x[1], x[2], {.mask = {.causal = true}, .scale = 0.5});
       }},
  };
}

// The value, the gradient of each input, and the gradients of <gradients, v>.
std::vector<Tensor> derivatives(const Case& c, DType dtype) {
  std::vector<Tensor> x;
  for (const Shape& shape : c.inputs) {
    x.push_back(parameter(cast(normal(shape, x.size()), dtype).array()));
  }
  const Tensor y = c.f(x);
  std::vector<Tensor> result = {y};
  const Gradients first =
      backward(y, {.cotangent = cast(normal(y.shape(), 10), y.dtype()), .create_graph = true});
  for (const Tensor& input : x) result.push_back(first[input]);
  if (!first[x[0]].requires_grad()) return result;  // linear
  const Gradients second =
      backward(first[x[0]], {.cotangent = cast(normal(x[0].shape(), 11), dtype)});
  for (const Tensor& input : x) {
    if (second.contains(input)) result.push_back(second[input]);
  }
  return result;
}

void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(f64(actual[i]), f64(expected[i]), tolerance_of(DType::bf16));
  }
}

TEST(Bf16OpsTest, AgreeWithF64ToTheSecondDerivative) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Tensor> expected = derivatives(c, DType::f64);
    const std::vector<Tensor> fused = derivatives(c, DType::bf16);
    EXPECT_EQ(fused[0].dtype(), c.name.starts_with("sum_to") ? DType::f32 : DType::bf16);
    EXPECT_EQ(fused[1].dtype(), DType::bf16);
    expect_close(fused, expected);
    const ComposedOnly composed_only;
    const std::vector<Tensor> composed = derivatives(c, DType::bf16);
    EXPECT_EQ(composed[0].dtype(), fused[0].dtype());
    expect_close(composed, expected);
  }
}

TEST(Bf16OpsTest, OtherArithmeticWantsF32) {
  const Tensor x = zeros({2, 3}, DType::bf16);
  EXPECT_EQ(error_of([&] { x* x; }), "mul: needs f32 or f64: a bf16[2, 3], b bf16[2, 3]");
  EXPECT_EQ(error_of([&] { x + zeros({3}, DType::bf16); }),
            "add: bf16 does not broadcast; cast it to f32 first: a bf16[2, 3], b bf16[3]");
  EXPECT_EQ(error_of([&] { softmax(x); }), "softmax: needs f32 or f64: x bf16[2, 3]");
}

}  // namespace
}  // namespace qkv
