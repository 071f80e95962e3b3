#include "framework/nn/embedding.h"

#include "framework/ops/ops.h"

namespace qkv {

Embedding::Embedding(Initializer& init, int64_t count, int64_t width, double standard_deviation)
    : weight(init.normal({count, width}, standard_deviation)) {}

Tensor Embedding::operator()(const Tensor& index) const { return embedding(weight, index); }

void Embedding::visit(Visitor& v) { v.parameter("weight", weight); }

}  // namespace qkv
