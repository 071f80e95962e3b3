#include "framework/optim/examples.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/nn/attention.h"
#include "framework/nn/examples.h"
#include "framework/nn/feed_forward.h"
#include "framework/ops/ops.h"
#include "framework/optim/training_step.h"

namespace qkv {
namespace {

constexpr int64_t kBatch = 2, kLength = 3, kWidth = 4, kHidden = 5;
constexpr double kMuchLess = 0.05, kMuchMore = 100.0;  // than the norm of these gradients
constexpr int64_t kLaterStep = 3;

// x [B, T, C] and targets [B, T]: the cross-entropy of `call(network, x)`, [B, T, C], taken as the
// logits of C classes.
template <class Network, class Call>
OpExample loss_of(const Network& network, Call call) {
  return module_example(
      "", network,
      {{Fill::kNormal, {kBatch, kLength, kWidth}}, {Fill::kTargets, {kBatch, kLength}, kWidth}},
      {"x", "targets"}, [call](const Network& with_weights, ExampleTensors data) {
        return cross_entropy(call(with_weights, data[0]), data[1]);
      });
}

Linear map(Initializer& init, int64_t in, int64_t out) {
  return {init, in, out, /*with_bias=*/true, /*standard_deviation=*/1.0};
}

OpExample perceptron_loss() {
  Initializer init(RandomStream(1), DType::f64);
  const FeedForward network = {.up = map(init, kWidth, kHidden),
                               .down = map(init, kHidden, kWidth),
                               .activation = Activation::kGelu,
                               .dropout = {}};
  return loss_of(network, [](const FeedForward& perceptron, const Tensor& x) {
    ForwardContext context;
    return perceptron(x, context);
  });
}

OpExample attention_loss() {
  Initializer init(RandomStream(1), DType::f64);
  MultiHeadAttention network;
  network.query = Projection(map(init, kWidth, kWidth));
  network.key = Projection(map(init, kWidth, kWidth));
  network.value = Projection(map(init, kWidth, kWidth));
  network.output = Projection(map(init, kWidth, kWidth));
  network.num_heads = 2;
  return loss_of(network, [](const MultiHeadAttention& attention, const Tensor& x) {
    ForwardContext context;
    return attention(x, {.causal = true}, context);
  });
}

// The step of a loss whose inputs are x, targets and the weights.
OpExample step_example(const char* name, OpExample loss, const OptimizerOptions& optimizer,
                       int64_t number) {
  const TrainingStep step = {.loss = loss.f, .data = 2, .optimizer = optimizer, .number = number};
  OpExample example = {.name = name,
                       .inputs = std::move(loss.inputs),
                       .f = step,
                       .input_names = std::move(loss.input_names)};
  const size_t weights_end = example.inputs.size();
  const auto add_state = [&](const char* state, Fill fill) {
    for (size_t i = step.data; i < weights_end; ++i) {
      example.inputs.push_back({fill, example.inputs[i].shape});
      example.input_names.push_back(absl::StrCat(state, ".", example.input_names[i]));
    }
  };
  if (number > 1 && optimizer.kind == OptimizerKind::kSgd) add_state("velocity", Fill::kNormal);
  if (number > 1 && optimizer.kind != OptimizerKind::kSgd) {
    add_state("first_moment", Fill::kNormal);
    add_state("second_moment", Fill::kPositive);
  }
  example.inputs.push_back({Fill::kPositive, {}});
  example.input_names.emplace_back("learning rate");
  return example;
}

}  // namespace

std::vector<OpExamples> step_examples() {
  const OpExample perceptron = perceptron_loss(), attention = attention_loss();
  const auto options = [](OptimizerKind kind, double grad_clip) {
    return OptimizerOptions{.kind = kind, .momentum = 0.9, .grad_clip = grad_clip};
  };
  const OptimizerOptions clipped = options(OptimizerKind::kAdamW, kMuchLess),
                         whole = options(OptimizerKind::kAdamW, kMuchMore);
  // Adam's first step is the gradient's sign, but for its epsilon: one of the gradient's size keeps
  // the second derivatives from being differences of much larger numbers.
  OptimizerOptions first = clipped;
  first.epsilon = 0.01;
  return {{.op = "TrainingStep",
           .examples = {step_example("adamw, clipped", perceptron, clipped, kLaterStep),
                        step_example("adamw, not clipped", perceptron, whole, kLaterStep),
                        step_example("adamw, the first step, clipped", perceptron, first, 1),
                        step_example("adamw of attention, clipped", attention, clipped, kLaterStep),
                        step_example("adam, clipped", perceptron,
                                     options(OptimizerKind::kAdam, kMuchLess), kLaterStep),
                        step_example("sgd with momentum, clipped", perceptron,
                                     options(OptimizerKind::kSgd, kMuchLess), kLaterStep)}}};
}

}  // namespace qkv
