#pragma once

#include <utility>
#include <variant>

#include "framework/nn/initializer.h"
#include "framework/nn/linear.h"

namespace qkv {

// y = x
struct Identity {
  Tensor operator()(const Tensor& x) const { return x; }
  void visit(Visitor&) {}
};

// A map of its own for each of H parts of x, side by side:
//   y_h = x_h weight_hᵀ + bias_h        x [..., H D] -> y [..., H E]
struct PartsLinear {
  Tensor weight;  // [H, E, D]
  Tensor bias;    // [H E]; undefined: none

  PartsLinear() = default;
  // C numbers in, C numbers out.
  PartsLinear(Initializer& init, int64_t parts, int64_t features, bool with_bias,
              double standard_deviation);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// Any of them.
struct Projection {
  std::variant<Identity, Linear, PartsLinear> kind;

  Projection() = default;
  template <class Map>
  // NOLINTNEXTLINE(google-explicit-constructor): it is one of them
  Projection(Map map) : kind(std::move(map)) {}

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

}  // namespace qkv
