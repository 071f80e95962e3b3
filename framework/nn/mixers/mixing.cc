#include "framework/nn/mixers/mixing.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {

void check_mixing(std::string_view layer, const Tensor& x, const AttentionMask& mask,
                  bool can_window) {
  const std::string name(layer);
  if (x.rank() != 3) fail(absl::StrCat(name, ": x must be [B, T, C]: x ", x.describe()));
  if (mask.bias.defined() || mask.relative_bias.defined()) {
    fail(absl::StrCat(name, ": the mask has a bias, but this mixer has no scores to add it to"));
  }
  if (mask.window > 0 && !can_window)
    fail(absl::StrCat(name, ": the mask has a window, which this mixer does not support"));
  const Tensor& padding = mask.padding;
  if (!padding.defined()) return;
  if (padding.rank() == 2 && padding.dim(0) == x.dim(0) && padding.dim(1) >= x.dim(1)) return;
  fail(absl::StrCat(name, ": padding must be [B, T], one for each token: x ", x.describe(),
                    ", padding ", padding.describe()));
}

Tensor padding_of_last(const AttentionMask& mask, int64_t length) {
  if (!mask.padding.defined()) return Tensor();
  return slice(mask.padding, 1, mask.padding.dim(1) - length, length);
}

Tensor mix_by_scores(const Tensor& x, const AttentionMask& mask, const ForwardContext& context,
                     ScoresOf scores) {
  Tensor all = x;  // [B, Tk, C]: with the remembered tokens
  AttentionMask placed = mask;
  placed.first_query = 0;
  if (context.cache && mask.causal) {
    std::vector<Tensor>& read =
        context.cache->read_on(Scope::current(), context.first_position, x.dim(1));
    if (!read.empty()) all = concat({read[0], x}, 1);
    read = {all};
    placed.first_query = context.first_position;
  }
  const int64_t queries = x.dim(1), keys = all.dim(1);
  Tensor seen = scores(*placed.first_query, queries, keys);  // [Tq, Tk], -inf where hidden
  if (mask.causal || mask.window > 0 || mask.padding.defined()) {
    const Tensor hidden = hidden_keys(placed, queries, keys);  // [B or 1, 1, Tq, Tk]
    seen = masked_fill(seen,
                       mask.padding.defined() ? reshape(hidden, {hidden.dim(0), queries, keys})
                                              : reshape(hidden, {queries, keys}),
                       -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = softmax(seen);
  note("weights", weights);
  return masked_matmul(weights, all);
}

LearnedMixing::LearnedMixing(Initializer& init, int64_t max_length)
    : scores(init.zeros({max_length, max_length})) {}

Tensor LearnedMixing::operator()(const Tensor& x, const AttentionMask& mask,
                                 ForwardContext& context) const {
  check_mixing("learned", x, mask, /*can_window=*/true);
  const Tensor y =
      mix_by_scores(x, mask, context, [this](int64_t first, int64_t queries, int64_t keys) {
        if (keys > scores.dim(0)) {
          fail(absl::StrCat("learned: has scores for ", scores.dim(0), " positions, not for ",
                            keys));
        }
        return slice(slice(scores, 0, first, queries), 1, 0, keys);
      });
  return output_dropout(y, context);
}

void LearnedMixing::visit(Visitor& v) { v.parameter("scores", scores); }

Tensor UniformMixing::operator()(const Tensor& x, const AttentionMask& mask,
                                 ForwardContext& context) const {
  check_mixing("uniform", x, mask, /*can_window=*/true);
  const Tensor y =
      mix_by_scores(x, mask, context, [&](int64_t /*first*/, int64_t queries, int64_t keys) {
        return zeros({queries, keys}, x.dtype());
      });
  return output_dropout(y, context);
}

}  // namespace qkv
