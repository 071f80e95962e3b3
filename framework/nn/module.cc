#include "framework/nn/module.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/kernels/random.h"

namespace qkv {

size_t Visitor::enter(std::string_view name) {
  const size_t outer = path_.size();
  path_ += name;
  path_ += '.';
  return outer;
}

void Visitor::parameter(std::string_view name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (replaces_) {
    const size_t i = parameters_.size();
    if (i >= replacements_.size() || !replacements_[i].defined() ||
        replacements_[i].shape() != tensor.shape()) {
      fail(absl::StrCat("module: ", path_, std::string(name), " is ", tensor.describe(),
                        ", and its replacement ",
                        i < replacements_.size() ? replacements_[i].describe() : "is missing"));
    }
    const_cast<Tensor&>(tensor) =
        replacements_[i];  // `visit` reads; the module itself is not const
  }
  parameters_.push_back({path_ + std::string(name), tensor});
}

void Visitor::check_all_replaced() const {
  if (parameters_.size() == replacements_.size()) return;
  fail(absl::StrCat("module: has ", parameters_.size(), " parameters, and there are ",
                    replacements_.size(), " replacements"));
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters) {
  int64_t count = 0;
  for (const NamedParameter& p : parameters) count += p.tensor.size();
  return count;
}

std::string ForwardContext::path_of(std::string_view name) {
  const std::string& scope = Scope::current();
  return scope.empty() ? std::string(name) : scope + "." + std::string(name);
}

Tensor Initializer::normal(const Shape& shape, double standard_deviation) {
  Array array(shape, dtype_);
  kernels::fill_normal(random_.derive(made_++), 0.0, standard_deviation, array);
  return parameter(array);
}

Tensor Initializer::zeros(const Shape& shape) const {
  return parameter(Array::full(shape, dtype_, 0.0));
}

Tensor Initializer::ones(const Shape& shape) const {
  return parameter(Array::full(shape, dtype_, 1.0));
}

}  // namespace qkv
