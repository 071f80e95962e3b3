//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²            at step t
//   w = w - learning_rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// Adam adds weight_decay w to the gradient g; AdamW takes it off the weight, and of matrices only:
// biases and the weights of norms are not pulled to zero. Kingma and Ba 2015; Loshchilov and Hutter
// 2019.

#include <cmath>
#include <utility>

#include "framework/kernels/kernels.h"
#include "framework/optim/optimizer.h"

namespace qkv {
void adam_update(const OptimizerOptions& options, int64_t t, const Tensor& parameter,
                 const Array& gradient, std::span<Array> moments,
                 const kernels::StepFactors& factors) {
  const auto [beta1, beta2] = options.betas;
  const auto step = static_cast<double>(t);
  const bool decoupled = options.kind != OptimizerKind::kAdam;
  const bool decays = decoupled && parameter.rank() >= 2;
  Array weight = parameter.array();
  kernels::adam({.learning_rate = factors.learning_rate,
                 .beta1 = beta1,
                 .beta2 = beta2,
                 .epsilon = options.epsilon,
                 .l2 = decoupled ? 0.0 : options.weight_decay,
                 .weight_decay = decays ? options.weight_decay : 0.0,
                 .correction1 = 1.0 - std::pow(beta1, step),
                 .correction2 = 1.0 - std::pow(beta2, step),
                 .gradient_scale = factors.gradient_scale},
                gradient, weight, moments[0], moments[1]);
}

namespace {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, std::vector<NamedParameter> parameters)
      : Optimizer(options, std::move(parameters), {"first_moment", "second_moment"}) {}

 private:
  void update(const NamedParameter& parameter, const Array& gradient, std::span<Array> state,
              const kernels::StepFactors& factors) const override {
    adam_update(options_, steps(), parameter.tensor, gradient, state, factors);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options,
                                     std::vector<NamedParameter> parameters) {
  return std::make_unique<Adam>(options, std::move(parameters));
}

}  // namespace qkv
