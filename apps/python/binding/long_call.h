#pragma once

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "framework/graph/middleware.h"

namespace qkv::python {

// The access to Python for the work of a long call while it runs.
class LongCall {
 public:
  // Requested by Ctrl-C, and by whatever in_caller() throws.
  std::stop_token stop() const { return stop_.get_token(); }

  // Runs a function in the thread that made the call, with Python's lock, and waits for it. The
  // first that one throws comes out of the call, once the work has ended.
  void in_caller(const std::function<void()>& function);

  // Python's warning, as the command line prints "note: …".
  void warn(const std::string& text);

 private:
  friend void run_long(const std::function<void(LongCall&)>& work);

  void wait_for_work();  // in the caller
  void run_in_caller(const std::function<void()>* wanted);

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* wanted_ = nullptr;  // by the work, of the caller
  bool has_ended_ = false;
  std::exception_ptr failure_;  // the first in the caller
};

// While one lives, a call that is to stop ends before the next op of its thread, and leaves its
// work as it is.
class Stoppable final : public Middleware {
 public:
  explicit Stoppable(std::stop_token stop) : stop_(std::move(stop)) {}
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    look();
    return next(op, x);
  }
  void look() const {
    if (stop_.stop_requested()) throw Stopped();
  }

 private:
  struct Stopped {};  // what the caller threw comes out in its place

  std::stop_token stop_;
};

// The work has a thread of its own, so that Ctrl-C, and other threads of Python, need not wait for
// it: no signal is handled on its stack, where a product's numbers may be. After Ctrl-C the work is
// asked to stop, and KeyboardInterrupt comes when it has. An exception of the work comes out, too.
void run_long(const std::function<void(LongCall&)>& work);

// A stream of C whose text Python's print() writes: in a notebook it is in the cell. To be closed
// before the call ends.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using PythonStream = std::unique_ptr<std::FILE, CloseFile>;
PythonStream python_output(LongCall& call);

}  // namespace qkv::python
