#include "framework/nn/module.h"

namespace qkv {

size_t Visitor::enter(std::string_view name) {
  const size_t outer = path_.size();
  path_ += name;
  path_ += '.';
  return outer;
}

void Visitor::parameter(std::string_view name, Tensor& tensor) {
  if (!tensor.defined()) return;
  const std::string full_name = path_ + std::string(name);
  meet(full_name, tensor);
  parameters_.push_back({full_name, tensor});
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters) {
  int64_t count = 0;
  for (const NamedParameter& p : parameters) count += p.tensor.size();
  return count;
}

}  // namespace qkv
