#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <memory>
#include <utility>

#include "apps/python/binding/lock.h"
#include "framework/graph/middleware.h"

namespace qkv::python {

// An exception of Python's that is not an error, such as Ctrl-C: it passes through the engine,
// which reports the exceptions that are errors. Python gets it as it was.
class Stop {
 public:
  explicit Stop(pybind11::error_already_set error)
      : error_(std::make_shared<pybind11::error_already_set>(std::move(error))) {}

  void restore() const { error_->restore(); }

 private:
  std::shared_ptr<pybind11::error_already_set> error_;
};

// Calls f, which calls Python, in the midst of the engine's computation.
template <class F>
auto call_python(F&& f) {
  return with_python([&] {
    try {
      return f();
    } catch (pybind11::error_already_set& error) {
      if (error.matches(PyExc_Exception)) throw;
      throw Stop(std::move(error));
    }
  });
}

// While one lives, Ctrl-C ends the engine's computation in this thread, before its next op.
class Interruptible final : public Middleware {
 public:
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    look();
    return next(op, x);
  }
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    look();
    return next(op, saved, dy);
  }

 private:
  void look() {
    constexpr std::chrono::milliseconds kBetweenLooks(20);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + kBetweenLooks;
    call_python([] {
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    });
  }

  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace qkv::python
