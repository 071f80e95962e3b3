#include "apps/python/binding/lock.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

namespace qkv::python {
namespace {

std::atomic<bool> is_ending = false;
std::atomic<int> threads_calling = 0;     // they compute, and call Python meanwhile
std::thread::id ends_it;                  // written before is_ending
thread_local bool computes_here = false;  // this thread is among threads_computing

// A stack for the signal handlers of this thread, where nobody gave it one before.
class SignalStack {
 public:
  SignalStack() {
    stack_t current;
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<char[]>(kBytes);
    stack_t own = {.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
    if (sigaltstack(&own, nullptr) != 0) memory_.reset();
  }
  ~SignalStack() {
    if (!memory_) return;
    stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr size_t kBytes = 1 << 16;

  std::unique_ptr<char[]> memory_;
};

// Python's end waits for those that are counted: first counted, then asked.
void stop_at_the_end() {
  if (!python_ends()) return;
  --threads_computing;
  stop_for_good();
}

// Ctrl-C ends it.
void wait_for_threads() {
  ends_it = std::this_thread::get_id();
  is_ending = true;
  const auto begin = std::chrono::steady_clock::now();
  const auto is_patient = [&] {  // what an op does in Python may take for ever
    return std::chrono::steady_clock::now() - begin < std::chrono::seconds(1);
  };
  while (threads_computing > 0 || (threads_calling > 0 && is_patient())) {
    {
      const py::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

}  // namespace

bool python_ends() { return is_ending && ends_it != std::this_thread::get_id(); }

void stop_for_good() {
  while (true) pause();
}

void stop_threads_at_the_end() {
  pthread_atfork(nullptr, nullptr, [] { threads_computing = 0, threads_calling = 0; });  // a child
  py::module_::import("atexit").attr("register")(py::cpp_function(&wait_for_threads));
}

Computing::Computing() {
  static thread_local const SignalStack stack;
  ++threads_computing;
  computes_here = true;
  state_ = PyEval_SaveThread();
  stop_at_the_end();
}

Computing::~Computing() {
  stop_at_the_end();
  PyEval_RestoreThread(state_);
  --threads_computing;
  computes_here = false;
}

WithPython::WithPython()
    : computed_(std::exchange(computes_here, false)), texts_left_(texts_left, kAllTexts) {
  const bool waits = computed_ || !PyGILState_Check();
  if (waits && !computed_) ++threads_computing;
  if (waits) stop_at_the_end();
  state_ = PyGILState_Ensure();
  ++threads_calling;
  if (waits) --threads_computing;
}

WithPython::~WithPython() {
  if (computed_) ++threads_computing;
  --threads_calling;
  PyGILState_Release(state_);
  if (computed_) stop_at_the_end();
  computes_here = computed_;
}

}  // namespace qkv::python
