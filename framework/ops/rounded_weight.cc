#include "framework/ops/rounded_weight.h"

#include "framework/kernels/elementwise.h"

namespace qkv {

Array rounded_to_bf16(const Array& x) {
  Array y(x.shape(), DType::bf16);
  kernels::cast(x, y);
  return y;
}

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
