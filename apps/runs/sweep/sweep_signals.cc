#include "apps/runs/sweep/sweep_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace qkv {

SweepSignals::SweepSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    const bool known = sigaction(signal, nullptr, &action) == 0;
    if (known && action.sa_handler != SIG_IGN) sigaddset(&stops, signal);
  }
  pthread_sigmask(SIG_BLOCK, &stops, &before_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  signals_ = FileDescriptor(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
}

SweepSignals::~SweepSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void SweepSignals::read_one() const {
  signalfd_siginfo info;
  [[maybe_unused]] const ssize_t count = ::read(signals_.get(), &info, sizeof info);
}

}  // namespace qkv
