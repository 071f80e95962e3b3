#include "train/interrupt.h"

#include <csignal>

namespace qkv {
namespace {

constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t signals_seen = 0;

void note(int) { signals_seen = 1; }

void install(int signal, unsigned flags) {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESTART | flags);
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals_seen = 0;
  for (const int signal : kEnds) install(signal, SA_RESETHAND);  // the second one is the end
  install(SIGPIPE, 0);  // whoever read standard output has gone; every later line says so again
}

InterruptGuard::~InterruptGuard() {
  for (const int signal : kEnds) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
}

bool InterruptGuard::interrupted() const { return signals_seen != 0; }

}  // namespace qkv
