#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/nn/module.h"
#include "framework/optim/options.h"

namespace qkv {

struct NamedState {
  std::string name;  // "first_moment.blocks.0.attention.query.weight"
  Array array;       // shares storage with the optimizer
};

// Changes parameters in place, one step at a time. The gradients come in the order of the
// parameters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // `gradient_scale` multiplies every gradient first: see clip_scale. Throws Error when the
  // gradients do not fit the parameters.
  void step(std::span<const Tensor> gradients, Scalar learning_rate, Scalar gradient_scale = 1.0);

  // Keeps from now on, of each parameter w, the mean of what it was after each step, in which a
  // step counts `decay` times as much as the one after it. With t steps made:
  //   average = average + (1 - decay) / (1 - decay^t) (w - average)
  // Before the first step the average is w. Throws Error where decay is not in (0, 1).
  void keep_averages(double decay);
  const std::vector<Tensor>& averages() const { return averages_; }  // by parameter; or none

  // What must be saved, beside the parameters, to go on as if never interrupted; and how many steps
  // were made. With averages the parameters are a part of it, as "weight.NAME": then the averages
  // are what is saved in their place.
  std::vector<NamedState> state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  Optimizer(std::vector<NamedParameter> parameters, std::vector<std::string> state_names);
  // Step number `steps()` (counted from 1) of one parameter, whose state comes in the order of the
  // names.
  virtual void update(const Tensor& parameter, const Array& gradient, std::span<Array> state,
                      Scalar learning_rate, Scalar gradient_scale) const = 0;

 private:
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

// The Euclidean norm of all gradients taken as one vector, summed in f64 in a fixed order.
double global_norm(std::span<const Tensor> gradients);
Scalar exact_norm(std::span<const Tensor> gradients);  // the same, also where they are f128

// The factor that brings a gradient of norm `norm` down to `max_norm`, as in PyTorch:
//   min(1, max_norm / (norm + 1e-6)); 1 when max_norm is 0
double clip_scale(double norm, double max_norm);
Scalar clip_scale(Scalar norm, double max_norm);

}  // namespace qkv
