#include "framework/ops/support/bf16.h"

#include <memory>

#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

// A tensor that is remembered and not kept.
class WeakTensor {
 public:
  WeakTensor() = default;
  explicit WeakTensor(const Tensor& x)
      : array_(x.array().without_storage()), storage_(x.array().storage()), node_(x.node()) {}

  Tensor lock() const {
    Array array = array_;
    array.storage() = storage_.lock();
    return {array, node_.lock()};
  }

 private:
  Array array_;
  Storage::Weak storage_;
  std::weak_ptr<Node> node_;
};

struct RoundedOperand {
  WeakTensor x, rounded;
  uint64_t version = 0;  // of x's storage when it was rounded
};

thread_local RoundedOperand last_operand;

bool is_same(const Tensor& a, const Tensor& b) {
  return a.array().raw() == b.array().raw() && a.shape() == b.shape() && a.node() == b.node();
}

}  // namespace

Tensor rounded_operand(const Tensor& x) {
  if (!x.defined() || x.dtype() == DType::bf16) return x;
  Tensor before = last_operand.rounded.lock();
  if (before.array().defined() && before.requires_grad() == records({x}) &&
      is_same(last_operand.x.lock(), x) && last_operand.version == x.array().storage().version()) {
    return before;
  }
  Tensor rounded = cast(x, DType::bf16);
  last_operand = {WeakTensor(x), WeakTensor(rounded), x.array().storage().version()};
  return rounded;
}

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
