// The step that training makes, and its derivative by the weights, the state and the learning rate.

#include "apps/check/training_step.h"

#include <gtest/gtest.h>

#include "data/tasks/tasks.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/with_parameters.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"
#include "train/evaluate/evaluate.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

// A new weight is a difference of numbers of size 1.
constexpr Tolerance kRounding = {.relative = 1e-14, .absolute = 1e-15};

std::vector<OpExample> all_examples() {
  std::vector<OpExample> all;
  for (const OpExamples& group : step_examples()) {
    all.insert(all.end(), group.examples.begin(), group.examples.end());
  }
  return all;
}

TEST(TrainingStepTest, TheFormulasGiveWhatTrainingGives) {
  for (const OpExample& example : all_examples()) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto inputs = make_inputs(example, DType::f64, RandomStream(seed));
      const Tensor composed = example.f(inputs);
      const NoGrad no_grad;
      const Tensor trained = example.f(inputs);
      EXPECT_TRUE(composed.requires_grad());
      EXPECT_FALSE(trained.requires_grad());
      SCOPED_TRACE(example.name);
      expect_close(composed, trained, kRounding);
    }
  }
}

// A small step: tanh(x w1) w2 shall be y.
struct SmallStep {
  TrainingStep step;
  std::vector<Tensor> inputs;
};

Tensor squared_error(std::span<const Tensor> x) {
  const Tensor error = matmul(tanh(matmul(x[0], x[2])), x[3]) - x[1];
  return sum(error * error);
}

OptimizerOptions small_options() { return {.weight_decay = 0.1, .grad_clip = 0.5}; }

SmallStep small_step() {
  const auto positive = [](const Tensor& x) { return parameter((x * x + 0.5).array()); };
  std::vector<Tensor> inputs = {leaf({3, 2}, {0.5, -1.0, 1.5, 0.3, -0.7, 0.9}),
                                leaf({3, 1}, {1.0, -2.0, 0.5}), leaf({2, 2}, {0.4, -0.6, 0.8, 0.2}),
                                leaf({2, 1}, {0.7, -0.3})};
  for (const size_t weight : {2u, 3u}) inputs.push_back(normal_like(inputs[weight], weight));
  for (const size_t weight : {2u, 3u}) inputs.push_back(positive(normal_like(inputs[weight], 9)));
  inputs.push_back(leaf({}, {0.3}));
  return {{.loss = squared_error, .data = 2, .optimizer = small_options(), .number = 2}, inputs};
}

// Differences of what training does, against the derivative of something else.
GradcheckReport check_against(const TensorFunction& formula) {
  const SmallStep small = small_step();
  const TensorFunction f = [&](std::span<const Tensor> x) {
    return records(x) ? formula(x) : small.step.trained(x);
  };
  return gradcheck(f, small.inputs);
}

GradcheckReport check_options(const std::function<void(TrainingStep&)>& change) {
  TrainingStep other = small_step().step;
  change(other);
  return check_against([&](std::span<const Tensor> x) { return other.composed(x); });
}

TEST(TrainingStepTest, TheSmallStepIsClippedAndRight) {
  const GradcheckReport report = check_options([](TrainingStep&) {});
  EXPECT_TRUE(report.passed()) << report.to_text();
  const SmallStep small = small_step();
  const Gradients g = backward(squared_error(small.inputs));
  const std::vector<Tensor> gradients = {g[small.inputs[2]], g[small.inputs[3]]};
  EXPECT_LT(clip_scale(global_norm(gradients), small_options().grad_clip), 0.9);
}

TEST(TrainingStepTest, AMistakeInTheOptimizerFails) {
  const auto expect_failure = [](const char* mistake, const GradcheckReport& report) {
    EXPECT_EQ(report.verdict(), Verdict::kFail) << mistake;
  };
  expect_failure("moments that are not corrected for their bias",
                 check_options([](auto& step) { step.number = 1000000; }));
  expect_failure("the correction of the step before",
                 check_options([](auto& step) { step.number = 3; }));
  expect_failure("a decay that is coupled",
                 check_options([](auto& step) { step.optimizer.kind = OptimizerKind::kAdam; }));
  expect_failure("no decay", check_options([](auto& step) { step.optimizer.weight_decay = 0.0; }));
  expect_failure("no clipping", check_options([](auto& step) { step.optimizer.grad_clip = 0.0; }));
  expect_failure("betas in the wrong order", check_options([](auto& step) {
                   std::swap(step.optimizer.betas[0], step.optimizer.betas[1]);
                 }));
}

// A gradient that is multiplied by a number is the gradient of the loss times that number.
TEST(TrainingStepTest, ClippingTakenForAConstantFactorFails) {
  const GradcheckReport report = check_against([](std::span<const Tensor> x) {
    const Gradients g = backward(squared_error(x));
    const std::vector<Tensor> gradients = {g[x[2]], g[x[3]]};
    const double factor = clip_scale(global_norm(gradients), small_options().grad_clip);
    TrainingStep constant = small_step().step;
    constant.optimizer.grad_clip = 0.0;
    constant.loss = [factor](std::span<const Tensor> all) { return factor * squared_error(all); };
    return constant.composed(x);
  });
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  for (const InputReport& input : report.inputs) {  // the learning rate and the state do not see it
    EXPECT_EQ(input.passed(), input.input >= 4) << input.to_text();
  }
}

TEST(TrainingStepTest, ALearningRateWithAWrongDerivativeFails) {
  const TensorFunction identity = [](std::span<const Tensor> x) { return scale(x[0], 1.0); };
  const PlantedBackward twice = [](const Tensor&, const Tensor& dy) { return 2.0 * dy; };
  const GradcheckReport report = check_against([&](std::span<const Tensor> x) {
    std::vector<Tensor> inputs(x.begin(), x.end());
    inputs.back() = apply<Planted>({x.back()}, identity, twice);
    return small_step().step.composed(inputs);
  });
  EXPECT_EQ(report.verdict(), Verdict::kFail);
  for (const InputReport& input : report.inputs) {
    EXPECT_EQ(input.passed(), input.input + 1 < small_step().inputs.size()) << input.to_text();
  }
}

// Its gradient is right, and the derivative of its gradient is not: only the step sees that.
TEST(TrainingStepTest, ABackwardWithAWrongBackwardFails) {
  const TensorFunction square = [](std::span<const Tensor> x) { return x[0] * x[0]; };
  const PlantedBackward backward_of_a_constant = [](const Tensor& x, const Tensor& dy) {
    return 2.0 * x.detached() * dy;
  };
  const TensorFunction loss = [&](std::span<const Tensor> x) {
    const Tensor error = matmul(tanh(matmul(x[0], x[2])), x[3]) - x[1];
    return sum(apply<Planted>({error}, square, backward_of_a_constant));
  };
  const SmallStep small = small_step();
  EXPECT_TRUE(gradcheck(loss, {small.inputs.data(), 4}).passed());
  TrainingStep step = small.step;
  step.loss = loss;
  EXPECT_EQ(gradcheck(step, small.inputs).verdict(), Verdict::kFail);
}

TEST(TrainingStepTest, ChangesNoneOfItsInputs) {
  const SmallStep small = small_step();
  std::vector<std::string> before;
  for (const Tensor& x : small.inputs) before.push_back(bits(x));
  small.step.trained(small.inputs);
  small.step.composed(small.inputs);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(bits(small.inputs[i]), before[i]) << i;
}

TEST(TrainingStepTest, InputsThatDoNotFitAreErrors) {
  SmallStep small = small_step();
  expect_error(
      "training_step: got 8 inputs; needs 2 data inputs, the weights, 2 state tensors for "
      "each weight, and a learning rate",
      [&] {
        small.step({small.inputs.data(), 8});
      });
  small.step.number = 0;
  expect_error("training_step: step must be ≥ 1, not 0", [&] { small.step(small.inputs); });
}

TEST(FalseAlarmTest, EveryTrainingStepPasses) { expect_no_false_alarm(step_examples(), 1); }

// The step that `qkv gradcheck` differentiates is the trainer's.

constexpr int64_t kComparedSteps = 4;

Config smallest_run() {
  Config config;
  config.data.task = "reverse";
  config.data.alphabet = 3;
  config.data.length = 2;
  config.model.num_layers = 1;
  config.model.d_model = 4;
  config.model.num_heads = 2;
  config.model.d_ff = 4;
  config.optimizer.grad_clip = 0.1;
  config.train.steps = kComparedSteps;
  config.train.batch_size = 4;
  config.train.precision = Precision::kF64;
  return config;
}

// The weights, and after the first step the optimizer's state, as they are now.
std::vector<Tensor> inputs_of_next_step(const Trainer& trainer) {
  std::vector<Tensor> inputs;
  for (const NamedParameter& p : parameters(trainer.model())) {
    inputs.emplace_back(p.tensor.array().copy());
  }
  if (trainer.steps_made() == 0) return inputs;
  for (const NamedState& s : trainer.optimizer().state()) inputs.emplace_back(s.array.copy());
  return inputs;
}

std::vector<double> weights_of(const Trainer& trainer) {
  std::vector<double> all;
  for (const NamedParameter& p : parameters(trainer.model())) {
    for (const double w : p.tensor.to_vector()) all.push_back(w);
  }
  return all;
}

TEST(TrainingStepTest, IsTheTrainersBitForBit) {
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    Config config = smallest_run();
    config.optimizer.kind = kind;
    config.optimizer.momentum = 0.9;
    const auto dataset = *make_dataset(config.data, config.seed);
    Trainer trainer(config, *dataset);
    for (int64_t k = 0; k < kComparedSteps; ++k) {
      const Batch batch = dataset->training_batch(k, config.train.batch_size);
      const TensorFunction loss = [&](std::span<const Tensor> weights) {
        ForwardContext context;
        return batch_loss(with_parameters(trainer.model(), weights), batch, {}, context).loss;
      };
      std::vector<Tensor> inputs = inputs_of_next_step(trainer);
      const StepResult result = *trainer.step();
      ASSERT_GT(result.grad_norm, config.optimizer.grad_clip);
      inputs.push_back(full({}, result.learning_rate, DType::f64));
      const TrainingStep step = {.loss = loss, .optimizer = config.optimizer, .number = k + 1};
      const NoGrad no_grad;
      EXPECT_EQ(step(inputs).to_vector(), weights_of(trainer)) << name_of(kind) << ", step " << k;
    }
  }
}

}  // namespace
}  // namespace qkv
