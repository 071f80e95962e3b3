#include "models/decoder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"

namespace qkv {

std::vector<std::string> Decoder::keys() {
  return transformer_keys({"tie_embeddings", "logit_cap", "attention.causal"});
}

Decoder::Decoder(const ModelOptions& o, const DataShape& data, Initializer init)
    : data_(data),
      tokens_(init, o, data.vocabulary_size),
      stack_(init, o, Stack::Role::kDecoder, data.max_length) {
  tokens_.make_head(init, o);
}

Tensor Decoder::operator()(const Tensor& tokens, ForwardContext& context) const {
  check_tokens("decoder", "tokens", tokens);
  const Tensor x = stack_(tokens_.embed(tokens), Tensor(), context);  // [B, T, C]
  return tokens_.logits(x);                                           // [B, T, V]
}

Tensor Decoder::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  if (inputs.size() != 1) {
    fail(absl::StrCat("decoder: needs one input, tokens [B, T], not ", inputs.size()));
  }
  return (*this)(inputs[0], context);
}

Tensor Decoder::next_logits(const Array& prompts, const Array& written,
                            KeyValueCache* cache) const {
  const NoGrad no_grad;
  const Tensor prompt(prompts);
  const Tensor tokens = written.defined() ? concat({prompt, Tensor(written)}, 1) : prompt;
  const int64_t length = tokens.dim(1);
  const int64_t left_behind = length - data_.max_length;  // by the window
  ForwardContext context;
  if (left_behind <= 0) context.cache = cache;
  const int64_t first = context.cache ? cache->length() : std::max<int64_t>(0, left_behind);
  if (context.cache) context.first_position = first;
  const Tensor unread = slice(tokens, 1, first, length - first);  // [B, T]
  return last_of((*this)(unread, context));
}

void Decoder::visit(Visitor& v) {
  tokens_.visit_embedding(v);
  stack_.visit(v);
  tokens_.visit_head(v);
}

}  // namespace qkv
