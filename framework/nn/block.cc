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
  const auto normalized = [&](const Tensor& h) { return mixer.normalized(h, mixer_norm); };
  const auto mixed = [&](const Tensor& h) { return mixer(h, mask, context); };
  const auto read = [&](const Tensor& h) {
    return cross_attention(h, source->x, source->mask, context);
  };
  note("input", x);
  Tensor h;
  switch (norm_place) {
    case NormPlace::kPre:
      h = noted("mixed", x + mixed(normalized(x)));
      if (source) h = noted("cross_mixed", h + read(cross_attention_norm(h)));
      return noted("output", h + feed_forward(feed_forward_norm(h), context));
    case NormPlace::kPost:
      h = noted("mixed", normalized(x + mixed(x)));
      if (source) h = noted("cross_mixed", cross_attention_norm(h + read(h)));
      return noted("output", feed_forward_norm(h + feed_forward(h, context)));
    case NormPlace::kNone:
      h = noted("mixed", x + mixed(x));
      if (source) h = noted("cross_mixed", h + read(h));
      return noted("output", h + feed_forward(h, context));
  }
  fail("block: unknown NormPlace");
}

void Block::visit(Visitor& v) {
  const bool has_norms = norm_place != NormPlace::kNone;
  if (has_norms) v.child(mixer.norm_name(), mixer_norm);
  mixer.visit(v);
  if (attends_to_source) {
    if (has_norms) v.child(cross_attention_norm);
    v.child(cross_attention);
  }
  if (has_norms) v.child(feed_forward_norm);
  v.child(feed_forward);
}

}  // namespace qkv
