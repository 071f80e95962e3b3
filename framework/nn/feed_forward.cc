#include "framework/nn/feed_forward.h"

#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kGelu:
      return gelu(x, GeluForm::kErf);
    case Activation::kGeluTanh:
      return gelu(x, GeluForm::kTanh);
    case Activation::kRelu:
      return relu(x);
    case Activation::kSilu:
      break;
  }
  return silu(x);
}

Tensor FeedForward::operator()(const Tensor& x, ForwardContext& context) const {
  Tensor hidden;  // [..., F]
  {
    const Scope scope("up");
    hidden = activate(activation, up.rounded_result(x));
  }
  const Scope scope("down");
  return dropout(down(hidden), context);
}

void FeedForward::visit(Visitor& v) const {
  v.child("up", up);
  v.child("down", down);
}

}  // namespace qkv
