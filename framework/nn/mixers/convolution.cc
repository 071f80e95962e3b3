#include "framework/nn/mixers/convolution.h"

#include <algorithm>
#include <cmath>

#include "framework/core/error.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/nn/mixers/mixing.h"
#include "framework/ops/support/bf16.h"

namespace qkv {

Convolution::Convolution(Initializer& init, int64_t width, int64_t kernel, bool is_depthwise,
                         bool with_bias, double standard_deviation)
    : weight(is_depthwise ? init.normal({width, 1, kernel},
                                        standard_deviation * std::sqrt(static_cast<double>(width)))
                          : init.normal({width, width, kernel}, standard_deviation)),
      bias(with_bias ? init.zeros({width}) : Tensor()),
      depthwise(is_depthwise),
      bf16_products(init.bf16_products()) {}

Tensor Convolution::operator()(const Tensor& x, const AttentionMask& mask,
                               ForwardContext& context) const {
  check_mixing("convolution", x, mask, /*can_window=*/false);
  note("weights", weight);
  const int64_t length = x.dim(1), before = mask.causal ? kernel() - 1 : (kernel() - 1) / 2;
  const Tensor padding = padding_of_last(mask, length);
  Tensor all = x;
  if (padding.defined()) all = masked_fill(x, reshape(padding, {x.dim(0), length, 1}), 0.0);
  if (context.cache && mask.causal) {
    std::vector<Tensor>& last =
        context.cache->read_on(Scope::current(), context.first_position, length);
    if (!last.empty()) all = concat({last[0], all}, 1);
    const int64_t remembered = std::min(before, all.dim(1));
    last = {slice(all, 1, all.dim(1) - remembered, remembered)};
  }
  const Tensor y = depthwise ? depthwise_convolution(all, weight, bias, before)
                             : convolution(bf16_products ? rounded_operand(all) : all, weight, bias,
                                           before);  // [B, K - 1 + T, C]: of the remembered, too
  return output_dropout(slice(y, 1, y.dim(1) - length, length), context);
}

void Convolution::visit(Visitor& v) {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

}  // namespace qkv
