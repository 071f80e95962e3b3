#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/array.h"
#include "framework/core/random.h"

namespace qkv {

class Node;

// A cheap handle on numbers (an Array) and on the node that made them, if a gradient may flow
// through it. One type for constants, activations and parameters. Copies share both. A graph
// belongs to the thread that builds it.
class Tensor {
 public:
  Tensor() = default;            // undefined
  explicit Tensor(Array array);  // a constant
  Tensor(Array array, std::shared_ptr<Node> node);

  bool defined() const { return array_.defined() || node_ != nullptr; }
  const Shape& shape() const { return array_.shape(); }
  int64_t dim(int axis) const { return shape()[axis]; }
  int rank() const { return shape().rank(); }
  int64_t size() const { return array_.size(); }
  DType dtype() const { return array_.dtype(); }
  const Array& array() const { return array_; }
  std::string describe() const;  // "f32[4, 16, 64]", "undefined"

  bool requires_grad() const { return node_ != nullptr; }
  const std::shared_ptr<Node>& node() const { return node_; }
  Tensor detached() const { return Tensor(array_); }  // the same numbers, no gradient

  double item() const;  // the only element; throws Error when there are more or none
  std::vector<double> to_vector() const { return array_.to_vector(); }

 private:
  Array array_;
  std::shared_ptr<Node> node_;
};

// A leaf that backward finds the gradient of. Changes in place (an optimizer's) show in every copy.
Tensor parameter(Array array);

Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
// Throw Error when the number of values is not shape.size().
Tensor constant(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::f32);
Tensor constant(const Shape& shape, std::span<const double> values, DType dtype = DType::f32);
// The next numbers of the stream: mean 0, variance 1.
Tensor random_normal(const Shape& shape, RandomStream& stream, DType dtype = DType::f32);

}  // namespace qkv
