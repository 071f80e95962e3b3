// The step that `qkv gradcheck` differentiates is the trainer's.

#include <gtest/gtest.h>

#include "apps/check/training_step.h"
#include "data/tasks/tasks.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/with_parameters.h"
#include "tests/framework/testing.h"
#include "train/evaluate/evaluate.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

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
