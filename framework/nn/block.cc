#include "framework/nn/block.h"

#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {

Tensor Block::operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context,
                         const AttentionSource* source) const {
  if (attends_to_source != (source != nullptr)) {
    fail(source ? "block: got a source, but has no cross-attention"
                : "block: needs a source to attend to");
  }
  context.note("input", x);
  const auto around = [&](const auto& norm, const Tensor& h, const auto& layer) {
    switch (norm_place) {
      case NormPlace::kPre:
        return h + layer(norm(h));
      case NormPlace::kPost:
        return norm(h + layer(h));
      case NormPlace::kNone:
        return h + layer(h);
    }
    fail("block: there is no such place of a norm");
  };
  // What a layer made is told under the path of the layer itself.
  const auto told = [&](std::string_view layer, const Tensor& t) {
    context.note(layer, t);
    return t;
  };
  Tensor h = around([&](const Tensor& t) { return told(norm_name(), normalized(t)); }, x,
                    [&](const Tensor& t) { return told(mixer.name(), mixer(t, mask, context)); });
  context.note("mixed", h);
  if (source) {
    h = around(
        [&](const Tensor& t) { return told(cross_attention_norm.name(), cross_attention_norm(t)); },
        h,
        [&](const Tensor& t) {
          return told(cross_attention.name(), cross_attention(t, source->x, source->mask, context));
        });
    context.note("cross_mixed", h);
  }
  h = around([&](const Tensor& t) { return told(feed_forward_norm.name(), feed_forward_norm(t)); },
             h,
             [&](const Tensor& t) { return told(feed_forward.name(), feed_forward(t, context)); });
  context.note("output", h);
  return h;
}

void Block::visit(Visitor& v) {
  const bool has_norms = norm_place != NormPlace::kNone;
  if (has_norms) v.child(norm_name(), mixer_norm);
  mixer.visit(v);
  if (attends_to_source) {
    if (has_norms) v.child(cross_attention_norm);
    v.child(cross_attention);
  }
  if (has_norms) v.child(feed_forward_norm);
  v.child(feed_forward);
}

std::string Block::norm_name() const { return std::string(mixer.name()) + "_norm"; }

Tensor Block::normalized(const Tensor& x) const {
  const Scope scope(norm_name());
  return mixer_norm(x);
}

}  // namespace qkv
