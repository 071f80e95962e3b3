#include "framework/nn/uniform_mixing.h"

#include "framework/nn/mixing.h"

namespace qkv {

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
