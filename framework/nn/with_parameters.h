#pragma once

#include <span>
#include <string>

#include "framework/nn/module.h"

namespace qkv {

// Puts other tensors in the place of a module's parameters, in their order.
class Replacement final : public Visitor {
 public:
  explicit Replacement(std::span<const Tensor> tensors) : tensors_(tensors) {}
  void check_all_used() const;  // throws Error when a tensor was left over

 protected:
  void meet(const std::string& name, Tensor& tensor) override;

 private:
  std::span<const Tensor> tensors_;
};

// The module with other tensors for its parameters, in the order of `parameters`: so that what it
// computes is a function of them. Throws Error where their number or a shape differs.
template <class Module>
Module with_parameters(Module module, std::span<const Tensor> tensors) {
  Replacement replacement(tensors);
  module.visit(replacement);
  replacement.check_all_used();
  return module;
}

}  // namespace qkv
