#include "framework/nn/module.h"

#include "absl/strings/str_cat.h"
#include "framework/graph/node.h"
#include "framework/kernels/random.h"

namespace qkv {

size_t Visitor::enter(std::string_view name) {
  const size_t outer = path_.size();
  path_ += name;
  path_ += '.';
  return outer;
}

void Visitor::parameter(std::string_view name, Tensor& tensor) {
  if (!tensor.defined()) return;
  if (replaces_) {
    const size_t i = parameters_.size();
    if (i >= replacements_.size() || !replacements_[i].defined() ||
        replacements_[i].shape() != tensor.shape()) {
      fail(absl::StrCat("module: ", path_, std::string(name), " is ", tensor.describe(),
                        ", but its replacement ",
                        i < replacements_.size() ? replacements_[i].describe() : "is missing"));
    }
    tensor = replacements_[i];
  }
  parameters_.push_back({path_ + std::string(name), tensor});
}

void Visitor::check_all_replaced() const {
  if (parameters_.size() == replacements_.size()) return;
  fail(absl::StrCat("module: has ", parameters_.size(), " parameters, but there are ",
                    replacements_.size(), " replacements"));
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters) {
  int64_t count = 0;
  for (const NamedParameter& p : parameters) count += p.tensor.size();
  return count;
}

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
