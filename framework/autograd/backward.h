#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "framework/core/error.h"
#include "framework/graph/tensor.h"

namespace qkv {

struct BackwardOptions;

// Gradients are values: `Gradients g = backward(loss); g[weight]`. A gradient has its tensor's
// shape and dtype.
class Gradients {
 public:
  // The gradient of a leaf (or of a tensor in `keep`). Throws Error when the loss does not depend
  // on it.
  const Tensor& operator[](const Tensor& x) const;
  bool contains(const Tensor& x) const;
  size_t size() const { return gradients_.size(); }
  const auto& all() const { return gradients_; }  // by the node of each tensor

 private:
  friend Gradients backward(const Tensor& output, const BackwardOptions& options);
  std::unordered_map<std::shared_ptr<Node>, Tensor> gradients_;
};

// The backward of an op threw, or gave gradients of another number or shape than that of its
// inputs. The text begins with the op, or "backward of" the op; the exception is nested in it.
class BackwardError : public Error {
 public:
  using Error::Error;
};

struct BackwardOptions {
  // The gradient of the output; undefined: 1, for an output of one element.
  Tensor cotangent = Tensor();
  // Gradients can be differentiated again.
  bool create_graph = false;
  // The graph stays for another backward; else the walk releases each node once it has used it.
  bool keep_graph = false;
  // Tensors between the leaves and the output whose gradients are wanted, too.
  std::vector<Tensor> keep = {};
};

// Reverse-mode differentiation: the gradient of `output` (dot the cotangent) for every leaf it
// depends on. Throws Error when `output` has no graph, was walked before without keep_graph, or has
// more than one element and no cotangent; BackwardError when an op's backward is to blame.
Gradients backward(const Tensor& output, const BackwardOptions& options = {});

// A function that can be differentiated and checked: of any tensors, also masks and indices.
using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

}  // namespace qkv
