#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/graph/middleware.h"
#include "framework/graph/tensor.h"

namespace qkv {

// A name in a type: Child<"attention", MultiHeadAttention>.
template <size_t kLength>
struct FixedName {
  char text[kLength];

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a name
  constexpr FixedName(const char (&literal)[kLength]) { std::copy_n(literal, kLength, text); }
};

// A module that is part of another, with the name that it has there: in the paths of parameters,
// checkpoints, errors, profiles and traces. Calling it enters the scope of that name.
template <FixedName kName, class Module>
struct Child : Module {
  using Module::Module;
  Child() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is the module, with its name
  Child(Module module) : Module(std::move(module)) {}

  static constexpr std::string_view name() { return kName.text; }

  template <class... Inputs>
  auto operator()(Inputs&&... inputs) const {
    const Scope scope(name());
    return Module::operator()(std::forward<Inputs>(inputs)...);
  }
};

// A child whose result is noted under its name, for those who look at the steps of a model.
template <FixedName kName, class Module>
struct NotedChild : Child<kName, Module> {
  using Child<kName, Module>::Child;

  template <class... Inputs>
  Tensor operator()(Inputs&&... inputs) const {
    return noted(kName.text, Child<kName, Module>::operator()(std::forward<Inputs>(inputs)...));
  }
};

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
  Visitor() = default;
  // Puts `replacements` in the place of the parameters, in their order.
  explicit Visitor(std::span<const Tensor> replacements)
      : replaces_(true), replacements_(replacements) {}

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
  void check_all_replaced() const;  // throws Error when a replacement was left over

 private:
  size_t enter(std::string_view name);

  std::string path_;
  std::vector<NamedParameter> parameters_;
  bool replaces_ = false;
  std::span<const Tensor> replacements_;
};

// The module is passed as a copy, which shares its tensors with the original.
template <class Module>
std::vector<NamedParameter> parameters(Module module) {
  Visitor visitor;
  module.visit(visitor);
  return visitor.parameters();
}

// The module with other tensors for its parameters, in the order of `parameters`: so that what it
// computes is a function of them. Throws Error where their number or a shape differs.
template <class Module>
Module with_parameters(Module module, std::span<const Tensor> tensors) {
  Visitor visitor(tensors);
  module.visit(visitor);
  visitor.check_all_replaced();
  return module;
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters);  // of numbers

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

class KeyValueCache;

// What one forward pass needs beside its inputs.
struct ForwardContext {
  bool training = false;   // dropout is active
  RandomStream random{0};  // of this pass: give every step its own
  uint64_t streams_taken = 0;
  int64_t first_position = 0;      // of these tokens in their sequence
  KeyValueCache* cache = nullptr;  // of the tokens before these (framework/nn/key_value_cache.h)

  RandomStream next_stream() { return random.derive(streams_taken++); }
};

}  // namespace qkv
