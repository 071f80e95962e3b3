#pragma once

#include <span>
#include <string_view>

#include "framework/graph/op.h"

// How each op hands a small change of its inputs on: the table of forward-mode differentiation.
namespace qkv {

// One call of an op, and how fast its inputs move. All are f64, but for masks and indices.
struct ForwardCall {
  Op& op;
  std::span<const Tensor> x;
  const Tensor& y;             // op of x
  std::span<const Tensor> dx;  // tangents, of x's shapes; undefined: that input does not move
};

// The tangent dy = sum over the inputs of (dy/dx_i) dx_i. Each rule is made from the definition of
// its op, and calls no backward: where the two agree, they agree about the derivative.
struct ForwardRule {
  std::string_view op;
  std::string_view formula;  // of dy
  Tensor (*tangent)(const ForwardCall& call);
};

// A rule for every op that is left when the fused ones are composed (ComposedOnly).
std::span<const ForwardRule> forward_rules();
const ForwardRule* forward_rule_of(std::string_view op);  // nullptr: there is none

}  // namespace qkv
