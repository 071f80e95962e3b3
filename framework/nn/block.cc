#include "framework/nn/block.h"

#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {

Tensor Block::operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context,
                         const AttentionSource* source) const {
  if (attends_to_source != (source != nullptr)) {
    fail(source ? "block: there is a source, and no attention to it"
                : "block: needs a source to attend to");
  }
  context.note("input", x);
  const auto around = [&](const auto& norm, const Tensor& h, const auto& layer) {
    return pre_norm ? h + layer(norm(h)) : norm(h + layer(h));
  };
  Tensor h = around([&](const Tensor& t) { return normalized(t); }, x,
                    [&](const Tensor& t) { return mixer(t, mask, context); });
  if (source) {
    h = around(cross_attention_norm, h, [&](const Tensor& t) {
      return cross_attention(t, source->x, source->mask, context);
    });
  }
  h = around(feed_forward_norm, h, [&](const Tensor& t) { return feed_forward(t, context); });
  context.note("output", h);
  return h;
}

void Block::visit(Visitor& v) {
  v.child(norm_name(), mixer_norm);
  mixer.visit(v);
  if (attends_to_source) {
    v.child(cross_attention_norm);
    v.child(cross_attention);
  }
  v.child(feed_forward_norm);
  v.child(feed_forward);
}

std::string Block::norm_name() const { return std::string(mixer.name()) + "_norm"; }

Tensor Block::normalized(const Tensor& x) const {
  const Scope scope(norm_name());
  return mixer_norm(x);
}

}  // namespace qkv
