#include "framework/nn/initializer.h"

#include "framework/graph/node.h"
#include "framework/kernels/kernels.h"

namespace qkv {

Initializer Initializer::shapes_only(DType dtype) {
  Initializer init(RandomStream(0), dtype);
  init.makes_numbers_ = false;
  return init;
}

Tensor Initializer::normal(const Shape& shape, double standard_deviation) {
  if (!makes_numbers_) return full(shape, 0.0);
  if (standard_deviation == 0) {
    ++made_;
    return full(shape, 0.0);
  }
  Array array(shape, dtype_);
  kernels::fill_normal(random_.derive(made_++), 0.0, standard_deviation, array);
  return parameter(array);
}

Tensor Initializer::full(const Shape& shape, double value) const {
  if (makes_numbers_) return parameter(Array::full(shape, dtype_, value));
  return Tensor(Array::without_numbers(shape, dtype_), std::make_shared<Node>());
}

}  // namespace qkv
