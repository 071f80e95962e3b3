#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/engine_state.h"
#include "framework/graph/tensor.h"

namespace qkv {

class Saved;

using TensorSpan = std::span<const Tensor>;

// The arrays that forward reads.
class Inputs {
 public:
  explicit Inputs(TensorSpan tensors) : tensors_(tensors) {}
  const Array& operator[](size_t i) const { return tensors_[i].array(); }
  size_t size() const { return tensors_.size(); }

 private:
  TensorSpan tensors_;
};

// The arrays that backward reads; the storage of the rest is released.
enum class Saves { kNothing, kInputs, kOutput, kInputsAndOutput };

// A differentiable function: arrays to an array, and gradients to gradients. One object a call: its
// fields are the call's attributes, and what forward keeps for backward.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;

  virtual Array forward(const Inputs& x) = 0;

  // The gradient of each input, from the gradient of the output, written in differentiable ops. An
  // undefined Tensor means "none": the input has no gradient, or its gradient is not needed
  // (`saved.needs(i)` is false).
  virtual std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const = 0;

  virtual Saves saves() const { return Saves::kInputs; }
};

// Runs forward on `inputs`, and records the op where a gradient may be asked for.
Tensor run(std::shared_ptr<Op> op, std::vector<Tensor> inputs);

template <class T, class... Attributes>
Tensor apply(std::vector<Tensor> inputs, Attributes&&... attributes) {
  return run(std::make_shared<T>(std::forward<Attributes>(attributes)...), std::move(inputs));
}

}  // namespace qkv
