#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

#include <atomic>

#include "framework/core/engine_state.h"

// The interpreter's lock. At its end Python ends each thread that asks for the lock, in the midst
// of C++, where no destructor may be interrupted. So a thread that would ask for it then stops for
// good instead, and Python's end waits until none computes.
namespace qkv::python {

namespace py = pybind11;

inline std::atomic<int> threads_computing = 0;  // they will ask for the lock
bool python_ends();                             // and this thread is not the one that ends it
[[noreturn]] void stop_for_good();
void stop_threads_at_the_end();

// While one lives, the engine computes: other threads of Python run. No signal is handled on the
// numbers of a product (docs/kernels.md, "Signals"): its handler has a stack of its own, which
// Python's handlers take where there is one.
class Computing {
 public:
  Computing();
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  PyThreadState* state_;
};

// While one lives, a thread of the engine has the lock.
class WithPython {
 public:
  WithPython();
  ~WithPython();

 private:
  bool computed_;
  ThreadSetting<int> texts_left_;
  PyGILState_STATE state_;
};

// Calls f, which calls Python, from any thread of the engine.
template <class F>
auto with_python(F&& f) {
  const WithPython lock;
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    stop_for_good();
  }
}

// Releases an object of Python, on any thread. After the interpreter's end that is impossible.
template <class F>
void let_go(F&& f) noexcept {
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check()) return f();
  ++threads_computing;
  if (!python_ends()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    f();
    PyGILState_Release(state);
  }
  --threads_computing;
}

// How many tensors an error may still show that this call makes. What Python does meanwhile is
// another call.
constexpr int kAllTexts = -1;
inline thread_local int texts_left = kAllTexts;

}  // namespace qkv::python
