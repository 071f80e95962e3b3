#include "framework/nn/block.h"

#include "framework/ops/ops.h"

namespace qkv {

Tensor Block::operator()(const Tensor& x, const AttentionMask& mask,
                         ForwardContext& context) const {
  context.note("input", x);
  Tensor y;
  if (pre_norm) {
    const Tensor h = x + attention(attention_norm(x), mask, context);
    y = h + feed_forward(feed_forward_norm(h), context);
  } else {
    const Tensor h = attention_norm(x + attention(x, mask, context));
    y = feed_forward_norm(h + feed_forward(h, context));
  }
  context.note("output", y);
  return y;
}

void Block::visit(Visitor& v) {
  v.child(attention_norm);
  v.child(attention);
  v.child(feed_forward_norm);
  v.child(feed_forward);
}

}  // namespace qkv
