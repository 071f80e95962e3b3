#include "apps/python/binding/long_call.h"

#include <chrono>
#include <exception>
#include <thread>

#include "apps/python/binding/binding.h"
#include "framework/core/signals_blocked.h"

namespace qkv::python {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(50);  // for Ctrl-C

ssize_t write_to_python(void* cookie, const char* text, size_t size) {
  const std::string copy(text, size);
  static_cast<LongCall*>(cookie)->in_caller(
      [&] { py::print(copy, "end"_a = "", "flush"_a = true); });
  return static_cast<ssize_t>(size);
}

}  // namespace

void LongCall::in_caller(const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  wanted_ = &function;
  changed_.notify_all();
  changed_.wait(lock, [&] { return wanted_ == nullptr; });
}

void LongCall::warn(const std::string& text) {
  in_caller([&] {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw py::error_already_set();
  });
}

void LongCall::run_in_caller(const std::function<void()>* wanted) {
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (wanted != nullptr) (*wanted)();
  } catch (abi::__forced_unwind&) {  // which nobody may keep
    throw;
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    stop_.request_stop();
  }
}

void LongCall::wait_for_work() {
  std::unique_lock lock(mutex_);
  while (!has_ended_) {
    changed_.wait_for(lock, kBetweenLooks, [&] { return has_ended_ || wanted_ != nullptr; });
    const std::function<void()>* const wanted = wanted_;
    lock.unlock();
    if (python_ends()) {
      stop_.request_stop();
    } else {
      with_python([&] { run_in_caller(wanted); });
    }
    lock.lock();
    if (wanted != nullptr) {
      wanted_ = nullptr;
      changed_.notify_all();
    }
  }
}

void run_long(const std::function<void(LongCall&)>& work) {
  LongCall call;
  std::exception_ptr failure;  // of the work
  {
    const Computing computing;
    std::thread thread;
    {
      const SignalsBlocked blocked;
      thread = std::thread([&] {
        try {
          work(call);
        } catch (...) {
          failure = std::current_exception();
        }
        const std::lock_guard lock(call.mutex_);
        call.has_ended_ = true;
        call.changed_.notify_all();
      });
    }
    call.wait_for_work();
    thread.join();
  }
  if (call.failure_) std::rethrow_exception(call.failure_);
  if (failure) std::rethrow_exception(failure);
}

PythonStream python_output(LongCall& call) {
  std::FILE* const file = fopencookie(
      &call, "w", {.read = nullptr, .write = write_to_python, .seek = nullptr, .close = nullptr});
  return PythonStream(file);
}

}  // namespace qkv::python
