#include "framework/nn/linear.h"

#include <memory>

#include "framework/ops/rounded_weight.h"

namespace qkv {

LinearOptions linear_options(const Initializer& init) {
  if (!init.bf16_products()) return {};
  return {.bf16_products = true, .rounded_weight = std::make_shared<RoundedWeight>()};
}

Linear::Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
               double standard_deviation)
    : weight(init.normal({out_features, in_features}, standard_deviation)),
      bias(with_bias ? init.zeros({out_features}) : Tensor()),
      options(linear_options(init)) {}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias, options); }

void Linear::visit(Visitor& v) const {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

}  // namespace qkv
