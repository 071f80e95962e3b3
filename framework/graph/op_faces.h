#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/graph/op.h"

// Optional abilities of an op beside forward and backward, for code that checks or records it. The
// op inherits a struct for each; the functions below ask for one.
namespace qkv {

// Forward mode: ẏ, how fast y moves when each input moves at x_dot[i], which is undefined where it
// stays. The sum over the inputs of (dy/dx_i) ẋ_i, from the definition of the op and without its
// backward, so that the two check each other; all in f64. An op with a composed formula
// (ComposedOnly) needs none.
struct HasTangent {
  virtual Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) = 0;

 protected:
  ~HasTangent() = default;
};

// An argument of an op's call besides its inputs: {"axis", 1}, {"mask", …}.
struct Attribute {
  using Value = std::variant<bool, int64_t, double, std::vector<int64_t>, Array>;

  std::string_view name;
  Value value;  // an undefined Array: the argument was not given
};

// The arguments besides the inputs: with the shape of the output, enough to run the op again.
struct HasAttributes {
  virtual std::vector<Attribute> attributes() const = 0;

 protected:
  ~HasAttributes() = default;
};

// A field of an op that its backward reads: a result of forward, a mask, indices.
struct Kept {
  const char* name;  // "rstd"
  Array* array;
};

// The fields that mutation testing overwrites.
struct HasKept {
  virtual std::vector<Kept> kept() = 0;

 protected:
  ~HasKept() = default;
};

// For an op without one: an undefined tensor, and nothing.
inline Tensor tangent_of(Op& op, TensorSpan x, const Tensor& y, TensorSpan x_dot) {
  auto* has = dynamic_cast<HasTangent*>(&op);
  return has ? has->tangent(x, y, x_dot) : Tensor();
}
inline std::vector<Attribute> attributes_of(const Op& op) {
  const auto* has = dynamic_cast<const HasAttributes*>(&op);
  return has ? has->attributes() : std::vector<Attribute>();
}
inline std::vector<Kept> kept_of(Op& op) {
  auto* has = dynamic_cast<HasKept*>(&op);
  return has ? has->kept() : std::vector<Kept>();
}

}  // namespace qkv
