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

std::string Dataset::answer_text(std::span<const int64_t> answer) const {
  if (class_names_.empty()) return vocabulary_.decode(answer);
  return class_names_.at(static_cast<size_t>(answer.front()));
}

}  // namespace qkv
