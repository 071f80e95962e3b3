#include "framework/kernels/product/product_log.h"

#include <set>
#include <tuple>

#include "framework/core/engine_state.h"

namespace qkv::kernels {

double Product::flops() const {
  return 2.0 * static_cast<double>(c.size()) * static_cast<double>(a[transpose_a ? 1 : 2]);
}

uint64_t bytes_of_matrices(std::span<const Product> products) {
  std::set<std::tuple<const void*, int64_t, bool>> seen;
  uint64_t bytes = 0;
  const auto add = [&](const void* where, const Shape& shape, DType dtype, bool is_result) {
    if (!seen.emplace(where, shape.size(), is_result).second) return;
    bytes += static_cast<uint64_t>(shape.size()) * dtype_bytes(dtype);
  };
  for (const Product& p : products) {
    add(p.a_data, p.a, p.operand_dtype, false);
    add(p.b_data, p.b, p.operand_dtype, false);
    add(p.c_data, p.c, p.result_dtype, true);
  }
  return bytes;
}

ProductLog::ProductLog() : ThreadSetting(engine_state().products, this) {}

void record_product(const Product& product) {
  ProductLog* const log = engine_state().products;
  if (!log) return;
  log->products_.push_back(product);
  log->flops_ += product.flops();
}

}  // namespace qkv::kernels
