#include "framework/nn/linear.h"

#include "framework/ops/bf16.h"

namespace qkv {

Linear::Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
               double standard_deviation, bool rounds)
    : weight(init.normal({out_features, in_features}, standard_deviation)),
      bias(with_bias ? init.zeros({out_features}) : Tensor()),
      rounded_weight(make_rounded_weight(init)),
      rounds_result(rounds) {}

Tensor Linear::operator()(const Tensor& x, const Tensor& other_weight) const {
  if (!rounded_weight) return linear(x, other_weight, bias);
  return linear(rounded_operand(x), other_weight, bias,
                {.bf16_result = rounds_result, .rounded_weight = rounded_weight});
}

void Linear::visit(Visitor& v) {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

std::shared_ptr<RoundedWeight> make_rounded_weight(const Initializer& init) {
  return init.bf16_products() ? std::make_shared<RoundedWeight>() : nullptr;
}

}  // namespace qkv
