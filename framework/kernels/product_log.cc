#include "framework/kernels/product_log.h"

#include <utility>

namespace qkv::kernels {
namespace {

thread_local ProductLog* current = nullptr;

}  // namespace

double Product::flops() const {
  return 2.0 * static_cast<double>(c.size()) * static_cast<double>(a[transpose_a ? 1 : 2]);
}

ProductLog::ProductLog() : outer_(std::exchange(current, this)) {}
ProductLog::~ProductLog() { current = outer_; }

void record_product(const Product& product) {
  if (!current) return;
  current->products_.push_back(product);
  current->flops_ += product.flops();
}

}  // namespace qkv::kernels
