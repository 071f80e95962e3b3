#include "models/encoder_decoder.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"

namespace qkv {

std::vector<std::string> EncoderDecoder::keys() {
  return transformer_keys({"tie_embeddings", "logit_cap", "attention.causal"});
}

EncoderDecoder::EncoderDecoder(const ModelOptions& o, const DataShape& data, Initializer init)
    : data_(data),
      tokens_(init, o, data.vocabulary_size),
      encoder_(Stack(init, o, Stack::Role::kEncoder, data.source_length)),
      decoder_(Stack(init, o, Stack::Role::kDecoderOfSource, data.max_length)) {
  tokens_.make_head(init, o);
}

Tensor EncoderDecoder::encode(const Tensor& source, const Tensor& padding,
                              ForwardContext& context) const {
  check_tokens("encoder_decoder", "source", source);
  ForwardContext source_context = context;  // which is read at once
  source_context.first_position = 0;
  source_context.cache = nullptr;
  Tensor encoded = encoder_(tokens_.embed(source), padding, source_context);
  context.streams_taken = source_context.streams_taken;
  return encoded;
}

Tensor EncoderDecoder::decode(const Tensor& target, const AttentionSource& source,
                              ForwardContext& context) const {
  check_tokens("encoder_decoder", "target", target);
  const Tensor x = decoder_(tokens_.embed(target), Tensor(), context, &source);
  return tokens_.logits(x);  // [B, Tt, V]
}

Tensor EncoderDecoder::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  if (inputs.size() != 2 && inputs.size() != 3) {
    fail(
        absl::StrCat("encoder_decoder: needs a source [B, Ts], a target [B, Tt] and, if the source "
                     "has padding, its padding, not ",
                     inputs.size(), inputs.size() == 1 ? " input" : " inputs"));
  }
  const Tensor padding = inputs.size() == 3 ? inputs[2] : Tensor();
  const Tensor encoded = encode(inputs[0], padding, context);  // [B, Ts, C]
  return decode(inputs[1], {encoded, {.padding = padding}}, context);
}

Tensor EncoderDecoder::next_logits(const Array& prompts, const Array& written,
                                   KeyValueCache* cache) const {
  const NoGrad no_grad;
  ForwardContext context{.cache = cache};
  const Tensor source(prompts);
  // The layers of the decoder have kept what they need of a source that was read.
  const bool was_read = cache && cache->has_source();
  const Tensor encoded = was_read ? Tensor() : encode(source, Tensor(), context);
  Tensor target = slice(source, 1, source.dim(1) - 1, 1);  // begins with the prompt's last token
  if (written.defined()) target = concat({target, Tensor(written)}, 1);
  const int64_t first = cache ? cache->length() : 0;
  context.first_position = first;
  const Tensor unread = slice(target, 1, first, target.dim(1) - first);
  return last_of(decode(unread, {encoded, {}}, context));
}

void EncoderDecoder::visit(Visitor& v) {
  tokens_.visit_embedding(v);
  v.child(encoder_);
  v.child(decoder_);
  tokens_.visit_head(v);
}

}  // namespace qkv
