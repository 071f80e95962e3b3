#include "framework/nn/dropout.h"

#include "framework/ops/ops.h"

namespace qkv {

Tensor Dropout::operator()(const Tensor& x, ForwardContext& context) const {
  if (!context.training || p == 0.0) return x;
  return dropout(x, p, context.next_stream());
}

}  // namespace qkv
