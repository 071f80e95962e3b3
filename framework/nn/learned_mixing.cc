#include "framework/nn/learned_mixing.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/mixing.h"

namespace qkv {

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

}  // namespace qkv
