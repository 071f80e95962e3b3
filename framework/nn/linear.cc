#include "framework/nn/linear.h"

namespace qkv {

Linear::Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
               double standard_deviation)
    : weight(init.normal({out_features, in_features}, standard_deviation)),
      bias(with_bias ? init.zeros({out_features}) : Tensor()),
      options{.bf16_products = init.bf16_products()} {}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias, options); }

void Linear::visit(Visitor& v) const {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

}  // namespace qkv
