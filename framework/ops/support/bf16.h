#pragma once

#include <cstdint>
#include <mutex>

#include "framework/graph/tensor.h"

namespace qkv {

Array rounded_to_bf16(const Array& x);
Tensor widened(const Tensor& x);  // bf16 as f32 (upcast), the others as they are

// x in bf16. Products of one x (query, key and value) that are taken one after the other share the
// copy, and its gradient, which is rounded to bf16 as often and added up there. The last one is
// remembered by each thread as long as it is in use, and keeps no memory.
Tensor rounded_operand(const Tensor& x);

// A weight in bf16, kept until the weight changes: it is rounded once a training step, and once for
// all the tokens that a model writes. Thread-safe.
class RoundedWeight {
 public:
  Array of(const Array& weight);

 private:
  std::mutex mutex_;
  Array weight_, rounded_;
  uint64_t version_ = 0;  // of weight_'s storage when it was rounded
};

}  // namespace qkv
