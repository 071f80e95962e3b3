#include "apps/check/training_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/layer_examples.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"

namespace qkv {
namespace {

using Tensors = std::vector<Tensor>;

struct StepInputs {
  Tensors data, weights, state;  // state: as in the optimizer, zero at the first step
  Tensor learning_rate;
};

StepInputs sort_inputs(const TrainingStep& step, std::span<const Tensor> inputs) {
  const size_t each = step.optimizer.kind == OptimizerKind::kSgd ? 1 : 2;
  const size_t read = step.number == 1 ? 0 : each;  // numbers of state for each weight
  if (step.number < 1) fail(absl::StrCat("training_step: step must be ≥ 1, not ", step.number));
  if (inputs.size() < step.data + 1 || (inputs.size() - step.data - 1) % (1 + read) != 0) {
    fail(absl::StrCat("training_step: got ", inputs.size(), " inputs; needs ", step.data,
                      " data inputs, the weights, ", read,
                      " state tensors for each weight, and a learning rate"));
  }
  const size_t count = (inputs.size() - step.data - 1) / (1 + read);
  const auto take = [&](size_t first, size_t size) {
    const std::span<const Tensor> part = inputs.subspan(first, size);
    return Tensors(part.begin(), part.end());
  };
  StepInputs sorted = {.data = take(0, step.data),
                       .weights = take(step.data, count),
                       .state = take(step.data + count, read * count),
                       .learning_rate = inputs.back()};
  while (sorted.state.size() < each * count) {
    const Tensor& weight = sorted.weights[sorted.state.size() % count];
    sorted.state.push_back(zeros(weight.shape(), weight.dtype()));
  }
  return sorted;
}

Tensor loss_of(const TrainingStep& step, const Tensors& data, const Tensors& weights) {
  Tensors inputs = data;
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  return step.loss(inputs);
}

Tensor one_after_the_other(const Tensors& weights) {
  Tensors pieces;
  for (const Tensor& w : weights) pieces.push_back(reshape(w, {w.size()}));
  return concat(pieces, 0);
}

void copy_numbers(const Tensor& from, Array to) {
  std::memcpy(to.mutable_raw(), from.array().raw(), to.bytes());
}

Tensors clipped(const Tensors& gradients, double max_norm) {
  if (max_norm == 0.0) return gradients;
  Tensor squares;
  for (const Tensor& g : gradients) {
    squares = squares.defined() ? squares + sum(g * g) : sum(g * g);
  }
  const Tensor limit = full({}, max_norm, squares.dtype());
  const Tensor factor = limit / maximum(limit, sqrt(squares) + 1e-6);
  Tensors result;
  for (const Tensor& g : gradients) result.push_back(g * factor);
  return result;
}

Tensor sgd_step(const OptimizerOptions& options, const Tensor& w, const Tensor& gradient,
                const Tensor& velocity, const Tensor& learning_rate) {
  const Tensor g = gradient + options.weight_decay * w;
  return w - learning_rate * (options.momentum * velocity + g);
}

struct Moments {
  Tensor first, second;
};

Tensor adam_step(const OptimizerOptions& options, int64_t number, const Tensor& w,
                 const Tensor& gradient, const Moments& moments, const Tensor& learning_rate) {
  const auto [beta1, beta2] = options.betas;
  const auto t = static_cast<double>(number);
  const bool decoupled = options.kind != OptimizerKind::kAdam;
  const Tensor g = decoupled ? gradient : gradient + options.weight_decay * w;
  const Tensor m = beta1 * moments.first + (1.0 - beta1) * g;
  const Tensor v = beta2 * moments.second + (1.0 - beta2) * (g * g);
  const Tensor corrected_m = m / (1.0 - std::pow(beta1, t));
  const Tensor corrected_v = v / (1.0 - std::pow(beta2, t));
  const Tensor update = corrected_m / (sqrt(corrected_v) + options.epsilon);
  const bool decays = decoupled && w.rank() >= 2;
  return w - learning_rate * (decays ? update + options.weight_decay * w : update);
}

// All singular values of u [R, C] near 1.
Tensor orthogonal(const Tensor& u) {
  const bool wide = u.dim(0) <= u.dim(1);
  Tensor x = u / (sqrt(sum(u * u)) + 1e-7);
  for (int step = 0; step < 5; ++step) {
    const Tensor a = matmul(x, x, {.transpose_a = !wide, .transpose_b = wide});
    const Tensor squares = -4.7750 * a + 2.0315 * matmul(a, a);
    x = 3.4445 * x + (wide ? matmul(squares, x) : matmul(x, squares));
  }
  return x;
}

Tensor muon_step(const OptimizerOptions& options, const Tensor& w, const Tensor& gradient,
                 const Tensor& first, const Tensor& learning_rate) {
  const double beta = options.betas[0];
  const Tensor m = beta * first + (1.0 - beta) * gradient;
  const Tensor x = orthogonal(beta * m + (1.0 - beta) * gradient);
  const double factor = 0.2 * std::sqrt(static_cast<double>(std::max(w.dim(0), w.dim(1))));
  return w - learning_rate * (options.weight_decay * w + factor * x);
}

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

Tensor TrainingStep::trained(std::span<const Tensor> inputs) const {
  StepInputs at = sort_inputs(*this, inputs);
  std::vector<NamedParameter> parameters;
  for (Tensor& w : at.weights) {
    w = parameter(w.array().copy());  // the optimizer changes it in place
    parameters.push_back({absl::StrCat(parameters.size()), w});
  }
  for (Tensor& x : at.data) x = x.detached();
  const std::unique_ptr<Optimizer> real = make_optimizer(optimizer, parameters);
  const std::vector<NamedState> state = real->state();
  for (size_t i = 0; i < state.size(); ++i) copy_numbers(at.state[i], state[i].array);
  real->set_steps(number - 1);

  Tensors gradients;
  {
    const RecordGradients record(true);
    const Gradients all = backward(loss_of(*this, at.data, at.weights));
    for (const Tensor& w : at.weights) gradients.push_back(all[w]);
  }
  if (at.learning_rate.dtype() == DType::f128) {
    real->exact_step(gradients, at.learning_rate, optimizer.grad_clip);
  } else {
    real->step(gradients, at.learning_rate.item(),
               clip_scale(global_norm(gradients), optimizer.grad_clip));
  }
  const NoGrad no_grad;
  return one_after_the_other(at.weights);
}

Tensor TrainingStep::composed(std::span<const Tensor> inputs) const {
  const RecordGradients record(true);
  StepInputs at = sort_inputs(*this, inputs);
  for (Tensor& w : at.weights) {
    if (!w.requires_grad()) w = parameter(w.array());
  }
  const Gradients all =
      backward(loss_of(*this, at.data, at.weights), {.create_graph = true, .keep = at.weights});
  Tensors gradients;
  for (const Tensor& w : at.weights) gradients.push_back(all[w]);
  gradients = clipped(gradients, optimizer.grad_clip);

  const size_t count = at.weights.size();
  Tensors updated;
  for (size_t i = 0; i < count; ++i) {
    const Tensor &w = at.weights[i], &g = gradients[i];
    const bool is_matrix = w.rank() >= 2;
    const Tensor rate = is_matrix ? at.learning_rate * optimizer.matrix_rate : at.learning_rate;
    if (optimizer.kind == OptimizerKind::kSgd) {
      updated.push_back(sgd_step(optimizer, w, g, at.state[i], rate));
    } else if (optimizer.kind == OptimizerKind::kMuon && is_matrix) {
      updated.push_back(muon_step(optimizer, w, g, at.state[i], rate));
    } else {
      updated.push_back(
          adam_step(optimizer, number, w, g, {at.state[i], at.state[count + i]}, rate));
    }
  }
  return one_after_the_other(updated);
}

Tensor TrainingStep::operator()(std::span<const Tensor> inputs) const {
  return records(inputs) ? composed(inputs) : trained(inputs);
}

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
  OptimizerOptions muon = options(OptimizerKind::kMuon, kMuchLess);
  muon.matrix_rate = 0.5;
  return {{.op = "TrainingStep",
           .examples = {step_example("adamw, clipped", perceptron, clipped, kLaterStep),
                        step_example("adamw, not clipped", perceptron, whole, kLaterStep),
                        step_example("adamw, the first step, clipped", perceptron, first, 1),
                        step_example("adamw of attention, clipped", attention, clipped, kLaterStep),
                        step_example("adam, clipped", perceptron,
                                     options(OptimizerKind::kAdam, kMuchLess), kLaterStep),
                        step_example("muon, clipped", perceptron, muon, kLaterStep),
                        step_example("sgd with momentum, clipped", perceptron,
                                     options(OptimizerKind::kSgd, kMuchLess), kLaterStep)}}};
}

}  // namespace qkv
