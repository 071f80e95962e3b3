#include "framework/nn/linear.h"

#include "framework/ops/ops.h"

namespace qkv {

Linear::Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
               double standard_deviation)
    : weight(init.normal({out_features, in_features}, standard_deviation)),
      bias(with_bias ? init.zeros({out_features}) : Tensor()) {}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

void Linear::visit(Visitor& v) const {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

}  // namespace qkv
