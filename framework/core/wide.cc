#include "framework/core/wide.h"

namespace qkv {
namespace {

thread_local int wide_runs = 0;
thread_local std::string narrowing_reader;
thread_local std::string_view running_op;

}  // namespace

WideRun::WideRun() {
  if (wide_runs++ == 0) narrowing_reader.clear();
}
WideRun::~WideRun() { --wide_runs; }

NarrowRun::NarrowRun() : ThreadSetting(wide_runs, 0) {}

bool WideRun::is_on() { return wide_runs > 0; }

std::string WideRun::narrowed_by() { return narrowing_reader; }

void WideRun::note_narrowing(std::string_view reader) {
  if (!is_on() || !narrowing_reader.empty()) return;
  narrowing_reader = running_op.empty() ? reader : running_op;
}

WideRun::Running::Running(std::string_view op) : ThreadSetting(running_op, op) {}

}  // namespace qkv
