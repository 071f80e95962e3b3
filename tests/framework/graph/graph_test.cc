// A recording has every op that ran, in order, and can be run again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"
#include "framework/graph/recorder.h"
#include "framework/graph/tensor.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tensor leaf(std::initializer_list<double> values) {
  return parameter(constant({static_cast<int64_t>(values.size())}, values, DType::f64).array());
}

std::vector<std::string> names(const std::vector<RecordedOp>& ops) {
  std::vector<std::string> all;
  for (const RecordedOp& each : ops) all.emplace_back(each.op->name());
  return all;
}

TEST(RecorderTest, ListsWhatRunsWhileItLives) {
  const Tensor a = leaf({1.0, 2.0}), b = leaf({3.0, 4.0});
  std::vector<RecordedOp> ops;
  exp(a);
  Tensor y;
  {
    const Recorder recorder(ops);
    const ScopeAt scope("blocks.0");
    y = exp(a) * b;
  }
  exp(a);
  ASSERT_THAT(names(ops), ElementsAre("exp", "mul"));
  EXPECT_EQ(ops[1].x[0].node(), ops[0].y.node());
  EXPECT_EQ(ops[1].x[1].node(), b.node());
  EXPECT_EQ(ops[1].y.node(), y.node());
  EXPECT_EQ(ops[1].scope, "blocks.0");
  EXPECT_FALSE(ops[1].in_backward);
  EXPECT_EQ(ops[1].backward_of, nullptr);
}

// softmax has a kernel for its backward, in which no op runs; mul has a formula.
TEST(RecorderTest, ListsWhatEachBackwardGaveWhereAskedFor) {
  const Tensor a = leaf({1.0, 2.0}), b = leaf({3.0, 4.0});
  std::vector<RecordedOp> ops;
  std::vector<RecordedBackward> walk;
  Gradients gradients;
  {
    const Recorder recorder(ops, &walk);
    gradients = backward(sum(softmax(a) * b));
  }
  ASSERT_EQ(walk.size(), 3);
  EXPECT_EQ(walk[1].of, ops[1].op.get());  // mul
  EXPECT_EQ(walk[2].of, ops[0].op.get());  // softmax
  EXPECT_EQ(walk[2].dx[0].to_vector(), gradients[a].to_vector());
  EXPECT_EQ(walk[2].dy.to_vector(), walk[1].dx[0].to_vector());
  EXPECT_EQ(walk[2].ops_before, ops.size());
  EXPECT_EQ(walk[1].ops_before, ops.size());
}

TEST(RecorderTest, TellsWhatRunsInTheBackwardAndOfWhichOp) {
  const Tensor a = leaf({1.0, 2.0});
  std::vector<RecordedOp> ops;
  {
    const Recorder recorder(ops);
    const Tensor y = exp(a) + a;
    backward(y, {.cotangent = leaf({1.0, 1.0}), .create_graph = true});
    neg(a);
  }
  ASSERT_THAT(names(ops), ElementsAre("exp", "add", "mul", "add", "neg"));
  EXPECT_TRUE(ops[2].in_backward);
  EXPECT_EQ(ops[2].backward_of, ops[0].op.get());
  EXPECT_TRUE(ops[3].in_backward);  // a has two gradients
  EXPECT_EQ(ops[3].backward_of, nullptr);
  EXPECT_FALSE(ops[4].in_backward);
}

TEST(RecorderTest, HasWhatRunsInstead) {
  class Doubles final : public Middleware {
   public:
    Doubles() : Middleware(Role::kChanges) {}
    Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
      const Tensor y = next(op, x);
      const OpsAsTheyAre none;
      return scale(y, 2.0);
    }
  };
  std::vector<RecordedOp> ops;
  const Recorder recorder(ops);
  const Doubles doubles;
  exp(leaf({1.0}));
  EXPECT_THAT(names(ops), ElementsAre("exp", "scale"));
}

TEST(RecorderTest, KnowsWhatAResultDependsOn) {
  const Tensor a = leaf({1.0, 2.0});
  std::vector<RecordedOp> ops;
  const Recorder recorder(ops);
  const Tensor y = exp(a), z = tanh(a) * y, constant = exp(y.detached());
  EXPECT_THAT(names(ops_behind(z, ops)), ElementsAre("exp", "tanh", "mul"));
  EXPECT_THAT(names(ops_behind(y, ops)), ElementsAre("exp"));
  EXPECT_THAT(ops_behind(constant, ops), IsEmpty());
}

// max keeps where the largest stood.
TEST(RecorderTest, AReplayHasTheBackwardOfItsOwnInputs) {
  std::vector<RecordedOp> ops;
  {
    const Recorder recorder(ops);
    max(leaf({1.0, 2.0}), 0, /*keep_axis=*/true);
  }
  const Tensor x = leaf({5.0, 3.0});
  const Tensor y = replay(ops[0], {x});
  replay(ops[0], {leaf({3.0, 5.0})});
  EXPECT_EQ(y.item(), 5.0);
  EXPECT_THAT(backward(y)[x].to_vector(), ElementsAre(1.0, 0.0));
}

TEST(TensorTest, AConstantIsMadeOfAListOrOfAVector) {
  const std::vector<double> numbers = {1, 2, 3, 4, 5, 6};
  const Tensor x = constant({2, 3}, numbers, DType::f64);
  EXPECT_EQ(x.describe(), "f64[2, 3]");
  EXPECT_EQ(x.to_vector(), numbers);
  EXPECT_EQ(bits(x), bits(constant({2, 3}, {1, 2, 3, 4, 5, 6}, DType::f64)));
  EXPECT_EQ(constant({2, 3}, numbers).dtype(), DType::f32);
  EXPECT_NE(error_of([&] { constant({2, 2}, numbers); }), "");
}

TEST(TensorTest, RandomNumbersAreTheNextOnesOfTheStream) {
  RandomStream stream(3), same(3);
  const Tensor x = random_normal({40, 50}, stream, DType::f64), next = random_normal({2}, stream);
  double sum = 0, squares = 0;
  for (const double number : x.to_vector()) {
    EXPECT_EQ(number, same.normal());
    sum += number, squares += number * number;
  }
  EXPECT_NEAR(sum / 2000, 0.0, 0.1);
  EXPECT_NEAR(squares / 2000, 1.0, 0.15);
  EXPECT_EQ(next.to_vector()[0], static_cast<float>(same.normal()));
}

}  // namespace
}  // namespace qkv
