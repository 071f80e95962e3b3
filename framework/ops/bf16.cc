#include "framework/ops/bf16.h"

#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"

namespace qkv {

Array rounded_to_bf16(const Array& x) {
  Array y(x.shape(), DType::bf16);
  kernels::cast(x, y);
  return y;
}

Tensor widened(const Tensor& x) { return cast(x, computed_dtype(x.dtype())); }

Array RoundedWeight::of(const Array& weight) {
  const std::lock_guard lock(mutex_);
  const bool same = weight_.defined() && weight_.raw() == weight.raw() &&
                    weight_.shape() == weight.shape() && version_ == weight.storage().version();
  if (!same) {
    weight_ = weight;
    version_ = weight.storage().version();
    rounded_ = rounded_to_bf16(weight);
  }
  return rounded_;
}

}  // namespace qkv
