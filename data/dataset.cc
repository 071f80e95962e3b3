#include "data/dataset.h"

namespace qkv {

int64_t Batch::tokens() const {
  if (inputs.front().dtype() != DType::i64) return rows();
  int64_t count = 0;
  for (const Array& input : inputs) {
    if (input.dtype() == DType::i64) count += input.size();
  }
  return count;
}

}  // namespace qkv
