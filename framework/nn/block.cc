#include "framework/nn/block.h"

#include "framework/ops/ops.h"

namespace qkv {

Tensor Block::operator()(const Tensor& x, const AttentionMask& mask,
                         ForwardContext& context) const {
  context.note("input", x);
  Tensor y;
  if (pre_norm) {
    const Tensor h = x + mixer(normalized(x), mask, context);
    y = h + feed_forward(feed_forward_norm(h), context);
  } else {
    const Tensor h = normalized(x + mixer(x, mask, context));
    y = feed_forward_norm(h + feed_forward(h, context));
  }
  context.note("output", y);
  return y;
}

void Block::visit(Visitor& v) {
  v.child(norm_name(), mixer_norm);
  mixer.visit(v);
  v.child(feed_forward_norm);
  v.child(feed_forward);
}

std::string Block::norm_name() const { return std::string(mixer.name()) + "_norm"; }

Tensor Block::normalized(const Tensor& x) const {
  const Scope scope(norm_name());
  return mixer_norm(x);
}

}  // namespace qkv
