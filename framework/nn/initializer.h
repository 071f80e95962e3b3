#pragma once

#include <cstdint>

#include "framework/core/random.h"
#include "framework/graph/tensor.h"

namespace qkv {

// Makes the parameters of layers, each from a stream of its own, in the order of construction.
class Initializer {
 public:
  // With bf16_products, linear layers multiply in bf16; dtype must be f32.
  Initializer(RandomStream random, DType dtype, bool bf16_products = false)
      : random_(random), dtype_(dtype), bf16_products_(bf16_products) {}

  // Makes parameters that have a shape and no numbers: to know a model before there is memory for
  // it.
  static Initializer shapes_only(DType dtype);

  Tensor normal(const Shape& shape, double standard_deviation);
  Tensor zeros(const Shape& shape) const { return full(shape, 0.0); }
  Tensor ones(const Shape& shape) const { return full(shape, 1.0); }
  DType dtype() const { return dtype_; }
  bool bf16_products() const { return bf16_products_; }
  bool makes_numbers() const { return makes_numbers_; }

 private:
  Tensor full(const Shape& shape, double value) const;

  RandomStream random_;
  DType dtype_;
  bool bf16_products_;
  bool makes_numbers_ = true;
  uint64_t made_ = 0;
};

}  // namespace qkv
