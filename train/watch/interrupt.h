#pragma once

#include <pthread.h>

#include <csignal>
#include <stop_token>

namespace qkv {

// While it lives, the first Ctrl-C (SIGINT), SIGTERM, closed terminal (SIGHUP) or end of the
// processor time (SIGXCPU) requests a stop instead of ending the process, and the second ends it at
// once. A signal ignored when the process started (nohup) stays ignored. A standard output that
// nobody reads any more (SIGPIPE) is an error of whoever writes to it.
//
// No signal is handled on a thread that computes: oneDNN's products move the stack pointer into the
// heap, where the frame of a handler would overwrite whatever is there. The signals are blocked in
// the thread that makes the guard and in those it starts from then on, and one thread that does
// nothing else waits for them. So make it before there are other threads.
class InterruptGuard {
 public:
  InterruptGuard();  // throws Error when the system has no thread left
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  static void* wait_for_signals(void* guard);

  sigset_t stops_;   // those that request a stop
  sigset_t before_;  // blocked in the thread that made the guard
  struct sigaction pipe_before_;
  std::stop_source stop_;
  std::stop_source end_;
  pthread_t waiting_;
};

}  // namespace qkv
