#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "framework/core/error.h"
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

// A child whose result is noted under its name, for whoever looks at the steps of a model.
template <FixedName kName, class Module>
struct NotedChild : Child<kName, Module> {
  using Child<kName, Module>::Child;

  template <class... Inputs>
  Tensor operator()(Inputs&&... inputs) const {
    return noted(kName.text, Child<kName, Module>::operator()(std::forward<Inputs>(inputs)...));
  }
};

}  // namespace qkv
