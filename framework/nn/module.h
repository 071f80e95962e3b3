#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/tensor.h"
#include "framework/nn/child.h"

namespace qkv {

// A module is a plain struct. Its `visit` lists its parameters and children; names, counts,
// checkpoints and optimizers all come from that list:
//
//   struct Block { Child<"norm", Norm> norm; Child<"attention", MultiHeadAttention> attention; … };
//   void Block::visit(Visitor& v) { v.child(norm); v.child(attention); … }
struct NamedParameter {
  std::string name;  // a dotted path, as in PyTorch: "blocks.0.attention.query.weight"
  Tensor tensor;
};

class Visitor {
 public:
  virtual ~Visitor() = default;

  // Undefined tensors (a linear layer without bias) are passed over.
  void parameter(std::string_view name, Tensor& tensor);

  template <class Module>
  void child(std::string_view name, Module& module) {
    const size_t outer = enter(name);
    module.visit(*this);
    path_.resize(outer);
  }

  template <FixedName kName, class Module>
  void child(Child<kName, Module>& module) {
    child(module.name(), static_cast<Module&>(module));
  }

  const std::vector<NamedParameter>& parameters() const { return parameters_; }

 protected:
  // A parameter is about to be listed.
  virtual void meet(const std::string& /*name*/, Tensor& /*tensor*/) {}

 private:
  size_t enter(std::string_view name);

  std::string path_;
  std::vector<NamedParameter> parameters_;
};

// The module is passed as a copy, which shares its tensors with the original.
template <class Module>
std::vector<NamedParameter> parameters(Module module) {
  Visitor visitor;
  module.visit(visitor);
  return visitor.parameters();
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters);  // of numbers

}  // namespace qkv
