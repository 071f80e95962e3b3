#include "framework/core/wide.h"

#include "framework/core/engine_state.h"

namespace qkv {
WideRun::WideRun() {
  EngineState& state = engine_state();
  if (state.wide_runs++ == 0) state.narrowing_reader.clear();
}
WideRun::~WideRun() { --engine_state().wide_runs; }

NarrowRun::NarrowRun() : ThreadSetting(engine_state().wide_runs, 0) {}

bool WideRun::is_on() { return engine_state().wide_runs > 0; }

std::string WideRun::narrowed_by() { return engine_state().narrowing_reader; }

void WideRun::note_narrowing(std::string_view reader) {
  EngineState& state = engine_state();
  if (state.wide_runs == 0 || !state.narrowing_reader.empty()) return;
  state.narrowing_reader = state.running_op.empty() ? reader : state.running_op;
}

WideRun::Running::Running(std::string_view op) : ThreadSetting(engine_state().running_op, op) {}

}  // namespace qkv
