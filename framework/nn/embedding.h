#pragma once

#include "framework/nn/initializer.h"
#include "framework/nn/module.h"

namespace qkv {

// A learned vector for each of `count` tokens or positions.
struct Embedding {
  Tensor weight;  // [count, width]

  Embedding() = default;
  Embedding(Initializer& init, int64_t count, int64_t width, double standard_deviation);

  Tensor operator()(const Tensor& index) const;  // i64 [...] -> [..., width]
  void visit(Visitor& v);
};

}  // namespace qkv
