#pragma once

#include <algorithm>
#include <initializer_list>

#include "framework/core/engine_state.h"
#include "framework/graph/op.h"

// How the ops of a thread run: recorded or not, fused or as their formulas.
namespace qkv {

// While one lives, nothing is recorded: tensors come out as constants.
class NoGrad : ThreadSetting<bool> {
 public:
  NoGrad() : ThreadSetting(engine_state().recording, false) {}
};

// While one lives, ops are recorded, or not; backward sets it to `create_graph`.
class RecordGradients : ThreadSetting<bool> {
 public:
  explicit RecordGradients(bool record) : ThreadSetting(engine_state().recording, record) {}
};

// Whether an op on these inputs would be recorded.
inline bool records(TensorSpan inputs) {
  return engine_state().recording && std::ranges::any_of(inputs, &Tensor::requires_grad);
}
inline bool records(std::initializer_list<Tensor> inputs) {
  return records(TensorSpan(inputs.begin(), inputs.size()));
}

// While one lives, the composed formulas run in place of the fused ops and backwards that must
// equal them.
class ComposedOnly : ThreadSetting<bool> {
 public:
  ComposedOnly() : ThreadSetting(engine_state().composed_only, true) {}
};
inline bool composed_only() { return engine_state().composed_only; }

// Whether a fused backward may stand in for its composed formula: the gradient is not itself to be
// differentiated.
inline bool may_fuse(std::initializer_list<Tensor> inputs) {
  return !composed_only() && !records(inputs);
}

// While one lives, attention and recurrence compute their steps one by one, and note them.
class StepByStep : ThreadSetting<bool> {
 public:
  StepByStep() : ThreadSetting(engine_state().step_by_step, true) {}
};
inline bool step_by_step() { return engine_state().step_by_step; }

}  // namespace qkv
