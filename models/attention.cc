#include "models/attention.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

void check_heads(const ModelOptions& o) {
  if (o.num_heads < 1 || o.d_model % o.num_heads != 0) {
    fail(absl::StrCat("transformer: num_heads ", o.num_heads, " does not divide d_model ",
                      o.d_model));
  }
  const int64_t key_heads = o.attention.num_key_value_heads;
  if (key_heads > 0 && o.num_heads % key_heads != 0) {
    fail(absl::StrCat("transformer: num_key_value_heads ", key_heads, " does not divide num_heads ",
                      o.num_heads));
  }
}

// A map from C numbers to those of `heads` heads, or with `back` from them; num_heads of them are
// of queries.
Projection make_projection(Initializer& init, const ModelOptions& o, int64_t heads,
                           double deviation, bool back = false) {
  const int64_t c = o.d_model;
  const AttentionChoices& a = o.attention;
  if (a.projections == Projections::kNone) return Identity();
  if (a.heads == Heads::kNarrow && !back) {
    return PartsLinear(init, heads, c, o.bias, deviation);
  }
  const int64_t width = a.heads == Heads::kWide ? c : c / o.num_heads;  // D
  if (back) return Linear(init, heads * width, c, o.bias, deviation);
  return Linear(init, c, heads * width, o.bias, deviation, /*rounds=*/true);
}

}  // namespace

MultiHeadAttention make_attention(Initializer& init, const ModelOptions& o,
                                  double residual_deviation, AttentionPosition position) {
  check_heads(o);
  const AttentionChoices& a = o.attention;
  const int64_t key_heads = a.num_key_value_heads > 0 ? a.num_key_value_heads : o.num_heads;
  MultiHeadAttention attention;
  attention.projections = a.projections;
  if (a.projections == Projections::kSeparate || a.projections == Projections::kSharedKeyValue) {
    attention.query = make_projection(init, o, o.num_heads, o.init_std);
  }
  if (a.projections == Projections::kSeparate) {
    attention.key = make_projection(init, o, key_heads, o.init_std);
  }
  attention.value = make_projection(init, o, key_heads, o.init_std);
  attention.output = make_projection(init, o, o.num_heads, residual_deviation, /*back=*/true);
  attention.num_heads = o.num_heads;
  attention.num_key_value_heads = key_heads;
  attention.scale_scores = o.scale_scores;
  if (a.scale != 0) attention.scale = a.scale;
  attention.position = std::move(position);
  attention.weight_dropout = attention.output_dropout = {o.dropout};
  return attention;
}

}  // namespace qkv
