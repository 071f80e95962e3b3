//   g = g + weight_decay w;  v = momentum v + g;  w = w - learning_rate v

#include <utility>

#include "framework/kernels/kernels.h"
#include "framework/optim/optimizer.h"

namespace qkv {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::vector<NamedParameter> parameters)
      : Optimizer(options, std::move(parameters), {"velocity"}) {}

 private:
  void update(const NamedParameter& parameter, const Array& gradient, std::span<Array> state,
              const kernels::StepFactors& factors) const override {
    Array weight = parameter.tensor.array();
    kernels::sgd({.learning_rate = factors.learning_rate,
                  .momentum = options_.momentum,
                  .weight_decay = options_.weight_decay,
                  .gradient_scale = factors.gradient_scale},
                 gradient, weight, state[0]);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options,
                                    std::vector<NamedParameter> parameters) {
  return std::make_unique<Sgd>(options, std::move(parameters));
}

}  // namespace qkv
