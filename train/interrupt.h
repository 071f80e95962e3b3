#pragma once

namespace qkv {

// While it lives, Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) are noted instead of
// ending the process, the second time they end it; a closed standard output is noted, too.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;
};

}  // namespace qkv
