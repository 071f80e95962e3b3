#include "framework/nn/dropout.h"

#include "framework/ops/ops.h"

namespace qkv {

Tensor Dropout::operator()(const Tensor& x, ForwardContext& context) const {
  if (!is_active(context)) return x;
  return dropout(x, p, context.next_stream());
}

}  // namespace qkv
