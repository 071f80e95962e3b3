#include "framework/autograd/backward.h"

#include <gtest/gtest.h>

#include "framework/autograd/hessian.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Values = std::vector<double>;

void change_in_place(const Tensor& x) {
  Array array = x.array();
  array.mutable_data<double>()[0] += 1.0;
}

TEST(BackwardTest, GradientsAreValues) {
  const Tensor w = leaf({2}, {3, 4}), x = constant({2}, {5, 6}, DType::f64);
  const Gradients g = backward(sum(w * x));
  EXPECT_EQ(g[w].to_vector(), (Values{5, 6}));
  EXPECT_EQ(g.size(), 1u);
  EXPECT_TRUE(g.contains(w));
  EXPECT_FALSE(g.contains(x));
  EXPECT_FALSE(g[w].requires_grad());
  // Another walk leaves the first one's gradients as they are.
  const Gradients h = backward(sum(w * w));
  EXPECT_EQ(g[w].to_vector(), (Values{5, 6}));
  EXPECT_EQ(h[w].to_vector(), (Values{6, 8}));
}

TEST(BackwardTest, TheGradientOfAConstantIsAnError) {
  const Tensor w = leaf({2}, {3, 4}), x = constant({2}, {5, 6}, DType::f64);
  const Gradients g = backward(sum(w * x));
  expect_error("gradients: there is none for f64[2]: it is a constant", [&] { g[x]; });
  expect_error(
      "gradients: there is none for f64[3]: the output does not depend on it, or it is "
      "neither a leaf nor in `keep`",
      [&] {
        g[leaf({3}, {1, 2, 3})];
      });
}

TEST(BackwardTest, UndefinedTensorsAreErrors) {
  expect_error("backward: the output is undefined", [] { backward(Tensor()); });
  expect_error("backward: the output is undefined",
               [] { backward(Tensor(), {.cotangent = ones({})}); });
  const Gradients g = backward(sum(leaf({2}, {3, 4})));
  expect_error("gradients: there is none for an undefined tensor", [&] { g[Tensor()]; });
  expect_error("parameter: the array is undefined", [] { parameter(Array()); });
  expect_error("item: the tensor is undefined", [] { Tensor().item(); });
  EXPECT_NE(error_of([] { Tensor().dim(0); }), "");
  EXPECT_NE(error_of([] { Tensor().to_vector(); }), "");
  EXPECT_EQ(Tensor().describe(), "undefined");
  EXPECT_FALSE(Tensor().detached().defined());
}

TEST(BackwardTest, ADiamondAddsUpWhatComesByBothSides) {
  const Tensor x = leaf({1}, {2});
  const Tensor a = x * x;  // x²
  const Tensor left = a * x, right = 3.0 * a;
  const Gradients g = backward(sum(left * right));  // 3 x⁵
  EXPECT_EQ(g[x].item(), 15.0 * 16.0);
}

TEST(BackwardTest, GradientsThatShareStorageAreNotAddedIntoEachOther) {
  // add passes one tensor on to both of its inputs; adding to one must not change the other.
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  const Tensor cotangent = constant({2}, {1.0, 10.0}, DType::f64);
  const Gradients g = backward((a + b) + a, {.cotangent = cotangent});
  EXPECT_EQ(g[a].to_vector(), (Values{2, 20}));
  EXPECT_EQ(g[b].to_vector(), (Values{1, 10}));
  EXPECT_EQ(cotangent.to_vector(), (Values{1, 10}));
}

TEST(BackwardTest, ALeafAsTheOutputHasTheCotangentAsItsGradient) {
  const Tensor w = leaf({}, {3});
  EXPECT_EQ(backward(w)[w].item(), 1.0);
  const Tensor v = leaf({2}, {3, 4});
  EXPECT_EQ(backward(v, {.cotangent = constant({2}, {5, 6}, DType::f64)})[v].to_vector(),
            (Values{5, 6}));
}

TEST(BackwardTest, CotangentsMustFitTheOutput) {
  const Tensor w = leaf({2}, {3, 4});
  expect_error("backward: f64[2] is not a scalar: give its gradient as `cotangent`",
               [&] { backward(w * w); });
  expect_error("backward: output f64[2] and cotangent f64[3] differ",
               [&] { backward(w * w, {.cotangent = zeros({3}, DType::f64)}); });
  expect_error("backward: output f64[2] and cotangent f32[2] differ",
               [&] { backward(w * w, {.cotangent = zeros({2})}); });
  expect_error("backward: f32[] does not depend on any parameter", [] { backward(zeros({})); });
}

TEST(BackwardTest, ASecondWalkNeedsAGraphThatWasKept) {
  const Tensor w = leaf({2}, {3, 4});
  const Tensor loss = sum(w * w);
  EXPECT_EQ(backward(loss, {.keep_graph = true})[w].to_vector(), (Values{6, 8}));
  EXPECT_EQ(backward(loss)[w].to_vector(), (Values{6, 8}));
  expect_error(
      "backward: this graph was differentiated before and released; use keep_graph the first time",
      [&] { backward(loss); });
}

TEST(BackwardTest, GradientsOfGradientsAreRight) {
  const Tensor x = leaf({3}, {1, 2, -3});
  const Gradients first = backward(sum(x * x * x), {.create_graph = true});
  const Gradients second = backward(sum(first[x]), {.create_graph = true});
  EXPECT_EQ(first[x].to_vector(), (Values{3, 12, 27}));
  EXPECT_EQ(second[x].to_vector(), (Values{6, 12, -18}));  // d²/dx² x³ = 6 x
  EXPECT_EQ(backward(sum(second[x]))[x].to_vector(), (Values{6, 6, 6}));
}

TEST(BackwardTest, ATensorChangedInPlaceAfterItsUseIsAnError) {
  const Tensor w = leaf({2}, {3, 4}), v = leaf({2}, {5, 6});
  const Tensor product = w * v;
  change_in_place(v);
  expect_error("mul: input 1 f64[2] was changed in place between forward and backward",
               [&] { backward(sum(product)); });
  const Tensor y = exp(w);
  change_in_place(y);
  expect_error("exp: output f64[2] was changed in place between forward and backward",
               [&] { backward(sum(y)); });
}

TEST(BackwardTest, ATensorChangedInPlaceThatBackwardDoesNotReadIsNone) {
  const Tensor w = leaf({2}, {3, 4}), v = leaf({2}, {5, 6});
  const Tensor total = sum(w + v);
  change_in_place(v);
  EXPECT_EQ(backward(total)[w].to_vector(), (Values{1, 1}));
}

TEST(BackwardTest, KeepGivesGradientsBetweenTheLeavesAndTheOutput) {
  const Tensor x = leaf({2}, {3, 4});
  const Tensor hidden = x * x;
  const Gradients g = backward(sum(hidden * hidden), {.keep = {hidden}});
  EXPECT_EQ(g[hidden].to_vector(), (Values{18, 32}));
  EXPECT_EQ(g[x].to_vector(), (Values{108, 256}));
  EXPECT_EQ(g.size(), 2u);
}

TEST(BackwardTest, ABranchThatTheLossDoesNotUseIsNotWalked) {
  const Tensor x = leaf({1}, {2}), unused = leaf({1}, {5});
  const Tensor branch = x * unused;
  const Gradients g = backward(sum(x * x));
  EXPECT_FALSE(g.contains(unused));
  EXPECT_EQ(backward(sum(branch))[unused].item(), 2.0);
}

TEST(NoGradTest, NothingIsRecordedWhileItLives) {
  const Tensor w = leaf({1}, {2});
  {
    const NoGrad no_grad;
    EXPECT_FALSE((w * w).requires_grad());
    { const NoGrad inner; }
    EXPECT_FALSE((w * w).requires_grad());
  }
  EXPECT_TRUE((w * w).requires_grad());
}

constexpr int kLong = 100000;

Tensor long_chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = y + 1.0;
  return y;
}

TEST(LongChainTest, IsDestroyedWithoutAWalk) {
  const Tensor x = leaf({}, {1});
  std::weak_ptr<Node> first, last;
  {
    const Tensor start = x + 1.0;
    first = start.node();
    const Tensor y = long_chain(start);
    last = y.node();
  }
  EXPECT_TRUE(first.expired());
  EXPECT_TRUE(last.expired());
}

TEST(LongChainTest, IsWalkedKeptAndWalkedAgain) {
  const Tensor x = leaf({}, {1});
  const Tensor y = long_chain(x);
  EXPECT_EQ(y.item(), 1.0 + kLong);
  EXPECT_EQ(backward(y, {.keep_graph = true})[x].item(), 1.0);
  EXPECT_EQ(backward(y, {.create_graph = true})[x].item(), 1.0);
}

// Memory in use as each op's backward begins.
class MemoryObserver final : public Middleware {
 public:
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    in_use.push_back(allocator_statistics().bytes_in_use);
    return next(op, saved, dy);
  }
  std::vector<uint64_t> in_use;
};

TEST(MemoryTest, SavedTensorsAreLetGoAsTheWalkGoes) {
  const Tensor x = parameter(Array::full({1 << 16}, DType::f64, 0.0));
  const uint64_t before = allocator_statistics().bytes_in_use;
  Tensor y = x;
  for (int i = 0; i < 40; ++i) y = tanh(y);  // each saves half a megabyte
  y = sum(y);
  const uint64_t full = allocator_statistics().bytes_in_use;
  EXPECT_GT(full - before, uint64_t{40} << 19);
  MemoryObserver observer;
  const Gradients g = backward(y);
  // When the last op's turn comes, its own output is what is left, and a few gradients.
  ASSERT_GE(observer.in_use.size(), 40u);
  EXPECT_LT(observer.in_use.back() - before, uint64_t{6} << 19);
  EXPECT_LT(allocator_statistics().bytes_in_use - before, uint64_t{2} << 19);
}

TEST(MemoryTest, OpsSaveNoMoreThanTheirBackwardReads) {
  const Tensor x = parameter(Array::full({1 << 16}, DType::f64, 1.0));
  const uint64_t before = allocator_statistics().bytes_in_use;
  // None of these reads numbers in its backward but exp, which reads its output.
  const Tensor y = exp(2.0 * reshape(x + x, {256, 256}) + 1.0);
  const Tensor z = sum(-transpose(y, 0, 1));
  EXPECT_LT(allocator_statistics().bytes_in_use - before, (uint64_t{1} << 19) + 4096);
  EXPECT_TRUE(backward(z).contains(x));
}

const Tolerance kExact = {.relative = 1e-12, .absolute = 1e-12};

TEST(HessianVectorProductTest, HoldsTheBlocksBetweenInputs) {
  // f = sum(x² y): H = [[2 y, 2 x], [2 x, 0]]
  const auto f = [](std::span<const Tensor> in) { return sum(in[0] * in[0] * in[1]); };
  const std::vector<Tensor> inputs = {leaf({2}, {3.0, -1.0}), leaf({2}, {0.5, 2.0})};
  const std::vector<Tensor> v = {leaf({2}, {1.0, 2.0}), leaf({2}, {-1.0, 4.0})};
  const std::vector<Tensor> both = hessian_vector_product(f, inputs, v);
  expect_close(both[0], leaf({2}, {1.0 - 6.0, 8.0 - 8.0}), kExact);
  expect_close(both[1], leaf({2}, {6.0, -4.0}), kExact);
  const std::vector<Tensor> second = hessian_vector_product(f, inputs, {{Tensor(), v[1]}});
  expect_close(second[0], leaf({2}, {-6.0, -8.0}), kExact);
  expect_close(second[1], leaf({2}, {0.0, 0.0}), kExact);
}

TEST(HessianVectorProductTest, IsZeroOfLinearFunctionsAndOfInputsThatAreIgnored) {
  const std::vector<Tensor> inputs = {leaf({2}, {3.0, -1.0}), leaf({2}, {0.5, 2.0})};
  const auto linear = [](std::span<const Tensor> in) { return sum(2.0 * in[0]); };
  for (const Tensor& hv : hessian_vector_product(linear, inputs, inputs)) {
    expect_close(hv, leaf({2}, {0.0, 0.0}), {0.0, 0.0});
  }
}

TEST(HessianVectorProductTest, PassesIndicesOnAndWorksInF32) {
  const Tensor targets = Tensor(Array::of({2}, std::vector<int64_t>{1, 0}));
  const auto f = [](std::span<const Tensor> in) { return cross_entropy(in[0], in[1]); };
  const std::vector<double> logits = {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}, ones_of = {1, 2, 3, 3, 2, 1};
  const std::vector<Tensor> wide = hessian_vector_product(f, {{leaf({2, 3}, logits), targets}},
                                                          {{leaf({2, 3}, ones_of), Tensor()}});
  EXPECT_FALSE(wide[1].defined());
  const Tensor x = Tensor(Array::of({2, 3}, DType::f32, logits));
  const Tensor v = Tensor(Array::of({2, 3}, DType::f32, ones_of));
  const std::vector<Tensor> narrow = hessian_vector_product(f, {{x, targets}}, {{v, Tensor()}});
  EXPECT_EQ(narrow[0].dtype(), DType::f32);
  expect_close(narrow[0], wide[0], tolerance_of(DType::f32));
  // Rows of the softmax's derivative sum to 0.
  expect_close(sum(wide[0]), full({}, 0.0, DType::f64), kExact);
}

TEST(HessianVectorProductTest, Misuse) {
  const Tensor x = leaf({2}, {1.0, 2.0}), longer = leaf({3}, {1.0, 2.0, 3.0});
  const auto vector = [](std::span<const Tensor> in) { return exp(in[0]); };
  expect_error("hessian_vector_product: needs a scalar function, not one that gives f64[2]", [&] {
    hessian_vector_product(vector, {&x, 1}, {&x, 1});
  });
  const Tensor undefined;
  expect_error("hessian_vector_product: input 0 is undefined", [&] {
    hessian_vector_product(vector, {&undefined, 1}, {&x, 1});
  });
  expect_error("hessian_vector_product: needs a scalar function, not one that gives undefined",
               [&] {
                 hessian_vector_product([](auto) { return Tensor(); }, {&x, 1}, {&x, 1});
               });
  expect_error(
      "hessian_vector_product: vector 0 f64[3] differs in shape or dtype from its input f64[2]",
      [&] {
        hessian_vector_product(vector, {&x, 1}, {&longer, 1});
      });
  expect_error("hessian_vector_product: 1 inputs and 0 vectors", [&] {
    hessian_vector_product(vector, {&x, 1}, {});
  });
}

}  // namespace
}  // namespace qkv
