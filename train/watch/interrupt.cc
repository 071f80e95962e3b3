#include "train/watch/interrupt.h"

#include <unistd.h>

#include <system_error>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
constexpr size_t kStackBytes = 512 << 10;
constexpr int kEnd = SIGTERM;  // sent to the waiting thread alone, when the guard goes

bool is_ignored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct sigaction plain_action(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  return action;
}

// As if nobody had waited for the signal: the parent sees which one it was.
[[noreturn]] void end_process(int signal) {
  const struct sigaction by_default = plain_action(SIG_DFL);
  sigaction(signal, &by_default, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // the first process of a container outlives its signals
}

}  // namespace

InterruptGuard::InterruptGuard() {
  sigemptyset(&stops_);
  sigaddset(&stops_, kEnd);
  for (const int signal : kStops) {
    if (!is_ignored(signal)) sigaddset(&stops_, signal);
  }
  const struct sigaction ignore = plain_action(SIG_IGN);
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  pthread_sigmask(SIG_BLOCK, &stops_, &before_);
  // Its stack is small: it starts, too, where the system has no room for more of the usual size.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = pthread_create(&waiting_, &attributes, wait_for_signals, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    fail(absl::StrCat("cannot start the thread that waits for Ctrl-C: ",
                      std::generic_category().message(error)));
  }
}

InterruptGuard::~InterruptGuard() {
  end_.request_stop();
  pthread_kill(waiting_, kEnd);
  pthread_join(waiting_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void* InterruptGuard::wait_for_signals(void* guard) {
  auto& self = *static_cast<InterruptGuard*>(guard);
  while (true) {
    int signal = 0;
    sigwait(&self.stops_, &signal);
    if (self.end_.stop_requested()) return nullptr;
    if (is_ignored(signal)) continue;
    // SIGXCPU comes again every second of processor time, asked for or not.
    if (!self.stop_.request_stop() && signal != SIGXCPU) end_process(signal);
  }
}

}  // namespace qkv
