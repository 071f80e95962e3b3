#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/engine_state.h"
#include "framework/core/shape.h"

namespace qkv::kernels {

// One matrix product, in the terms of matmul.h: c = op(a) op(b) + bias.
struct Product {
  Shape a, b, c;  // of rank 3; a or b may have N = 1
  bool transpose_a = false, transpose_b = false, has_bias = false;
  DType operand_dtype = DType::f32, result_dtype = DType::f32;
  // Where the matrices stood, to tell them apart and never to be read; nullptr: nowhere for long.
  const void *a_data = nullptr, *b_data = nullptr, *c_data = nullptr;

  double flops() const;  // 2 N M K L: a multiplication and an addition for each term
};

// The bytes of all matrices of the products, each counted once.
uint64_t bytes_of_matrices(std::span<const Product> products);

// While one lives, it keeps the products that record_product gets on its thread. For measuring; at
// most one at a time, the innermost.
class ProductLog : ThreadSetting<ProductLog*> {
 public:
  ProductLog();

  const std::vector<Product>& products() const { return products_; }
  double flops() const { return flops_; }  // of all of them

 private:
  friend void record_product(const Product& product);

  std::vector<Product> products_;
  double flops_ = 0;
};

// matmul calls it for every product it makes. A kernel that multiplies without calling matmul
// (fused attention) calls it for the products that the composed formula would make: whole ones,
// also where a causal mask lets the kernel skip a half, and without those it makes a second time so
// as not to store their results. So the floor of a step, and its number of operations, do not
// depend on how much is fused. Keys hidden by a window are in no product: each query has one with
// as many keys as a query sees at most.
void record_product(const Product& product);

}  // namespace qkv::kernels
