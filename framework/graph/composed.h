#pragma once

#include <initializer_list>

#include "framework/core/engine_state.h"
#include "framework/core/thread_setting.h"
#include "framework/graph/op.h"

// When fused ops give way to their formulas.
namespace qkv {

// While one lives, fused ops and fused backwards give way to the composed formulas that they must
// equal.
class ComposedOnly : ThreadSetting<bool> {
 public:
  ComposedOnly() : ThreadSetting(engine_state().composed_only, true) {}
};
inline bool composed_only() { return engine_state().composed_only; }

// While one lives, an op that holds none of its steps makes them one by one, and notes them.
class StepByStep : ThreadSetting<bool> {
 public:
  StepByStep() : ThreadSetting(engine_state().step_by_step, true) {}
};
inline bool step_by_step() { return engine_state().step_by_step; }

// Whether a fused backward may stand in for its composed formula: the gradient is not itself to be
// differentiated.
inline bool may_fuse(std::initializer_list<Tensor> inputs) {
  return !composed_only() && !records(inputs);
}

}  // namespace qkv
