#include "framework/nn/feed_forward.h"

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
  const Tensor raised = up(x);                         // [..., F]
  const Tensor hidden = activate(activation, raised);  // [..., F]
  note("up", raised);
  note("hidden", hidden);
  return dropout(down(hidden), context);
}

void FeedForward::visit(Visitor& v) {
  v.child(up);
  v.child(down);
}

}  // namespace qkv
