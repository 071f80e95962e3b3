#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/nn/module.h"
#include "framework/optim/optimizer_options.h"

namespace qkv {
namespace kernels {
struct StepFactors;
}

struct NamedState {
  std::string name;  // "first_moment.blocks.0.attention.query.weight"
  Array array;       // shares storage with the optimizer
};

// The group of a parameter, by its name. A group may have a learning rate of its own, and Muon
// takes the matrices.
//   embedding  a vector for each token, position or class: "…embedding.weight", "head.weight"
//   other      biases, norms, tables of scores: "…scores", "…distance_bias"
//   matrix     all else, which has two axes or more
enum class ParameterGroup { kEmbedding, kMatrix, kOther };
ParameterGroup group_of(const NamedParameter& parameter);

// Changes parameters in place, one step at a time. The gradients come in the order of the
// parameters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // `gradient_scale` multiplies every gradient first: see clip_scale. Throws Error when the
  // gradients do not fit the parameters.
  void step(std::span<const Tensor> gradients, double learning_rate, double gradient_scale = 1.0);
  // All in f128, with gradients that clip_scale brings down to max_norm: for a check, which takes
  // differences of it.
  void exact_step(std::span<const Tensor> gradients, const Tensor& learning_rate, double max_norm);

  // Keeps from now on, of each parameter w, the mean of its values after each step, in which a step
  // counts `decay` times as much as the one after it. With t steps made:
  //   average = average + (1 - decay) / (1 - decay^t) (w - average)
  // Before the first step the average is w. Throws Error where decay is not in (0, 1).
  void keep_averages(double decay);
  const std::vector<Tensor>& averages() const { return averages_; }  // by parameter; or none

  // The state that training, beside the parameters, needs to continue as if never interrupted, and
  // how many steps were made. With averages the parameters are a part of it, as "weight.NAME": then
  // the averages are saved in their place.
  std::vector<NamedState> state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  Optimizer(const OptimizerOptions& options, std::vector<NamedParameter> parameters,
            std::vector<std::string> state_names);
  // Step number `steps()` (counted from 1) of one parameter, whose state comes in the order of the
  // names.
  virtual void update(const NamedParameter& parameter, const Array& gradient,
                      std::span<Array> state, const kernels::StepFactors& factors) const = 0;

  OptimizerOptions options_;

 private:
  void step_by(std::span<const Tensor> gradients, const kernels::StepFactors& factors);

  std::vector<NamedParameter> parameters_;
  std::vector<std::string> state_names_;
  std::vector<std::vector<Array>> states_;  // by parameter, then by name; zero at first
  int64_t steps_ = 0;
  double average_decay_ = 0;
  std::vector<Tensor> averages_;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<NamedParameter> parameters);
std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options,
                                    std::vector<NamedParameter> parameters);
std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options,  // adam, adamw
                                     std::vector<NamedParameter> parameters);
std::unique_ptr<Optimizer> make_muon(const OptimizerOptions& options,
                                     std::vector<NamedParameter> parameters);
// Step t of adam or, with options of any other kind, adamw on one parameter.
void adam_update(const OptimizerOptions& options, int64_t t, const Tensor& parameter,
                 const Array& gradient, std::span<Array> moments,
                 const kernels::StepFactors& factors);

// The Euclidean norm of all gradients taken as one vector, summed in f64 in a fixed order.
double global_norm(std::span<const Tensor> gradients);

// The factor that brings a gradient of norm `norm` down to `max_norm`, as in PyTorch:
//   min(1, max_norm / (norm + 1e-6)); 1 when max_norm is 0
double clip_scale(double norm, double max_norm);

// The learning rate of step 0 … total_steps - 1. It rises in a straight line over warmup_steps;
// then it stays (kConstant), or falls to min_learning_rate at the last step: in a straight line
// (kLinear), along half a cosine (kCosine, Loshchilov and Hutter 2017), or in a straight line over
// the last decay_steps (kStable, Hu et al. 2024).
double scheduled_learning_rate(const OptimizerOptions& options, int64_t step, int64_t total_steps);

}  // namespace qkv
