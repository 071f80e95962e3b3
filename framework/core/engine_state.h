#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkv {

class GraphWalk;
class Middleware;
class Tensor;
namespace kernels {
class ProductLog;
}

// The engine's state of a thread, beside arguments. One kind of guard sets each field while it
// lives; the field is read where that guard is declared.
struct EngineState {
  bool recording = true;                    // NoGrad, RecordGradients
  bool composed_only = false;               // ComposedOnly
  bool step_by_step = false;                // StepByStep
  Middleware* middleware = nullptr;         // the first that an op comes to
  kernels::ProductLog* products = nullptr;  // ProductLog
  const GraphWalk* walk = nullptr;          // the innermost
  // Nodes whose last holder went away while another node was being destroyed.
  std::vector<Tensor>* orphans = nullptr;
  int wide_runs = 0;             // WideRun, NarrowRun
  std::string narrowing_reader;  // of the wide run
  std::string_view running_op;   // in it
  std::string scope;             // Scope: the place in the model
};

EngineState& engine_state();  // of this thread

// While one lives, a variable of its thread has another value.
template <class T>
class ThreadSetting {
 public:
  ThreadSetting(T& variable, T value)
      : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  ~ThreadSetting() { variable_ = std::move(outer_); }
  ThreadSetting(const ThreadSetting&) = delete;
  ThreadSetting& operator=(const ThreadSetting&) = delete;

 private:
  T& variable_;
  T outer_;
};

}  // namespace qkv
