#include "framework/core/engine_state.h"

namespace qkv {

EngineState& engine_state() {
  thread_local EngineState state;
  return state;
}

}  // namespace qkv
