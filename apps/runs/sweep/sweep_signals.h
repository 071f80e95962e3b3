#pragma once

#include <csignal>

#include "framework/io/files.h"

namespace qkv {

// While it lives, Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) are read from a
// descriptor, and end nothing. What was ignored stays ignored. It needs no thread, so that the
// process can be copied.
class SweepSignals {
 public:
  SweepSignals();
  ~SweepSignals();
  SweepSignals(const SweepSignals&) = delete;
  SweepSignals& operator=(const SweepSignals&) = delete;

  int descriptor() const { return signals_.get(); }
  void read_one() const;

 private:
  sigset_t before_;
  struct sigaction pipe_before_;
  FileDescriptor signals_;
};

}  // namespace qkv
