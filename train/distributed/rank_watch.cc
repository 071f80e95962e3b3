#include "train/distributed/rank_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "framework/core/clock.h"
#include "framework/core/terminal.h"

namespace qkv {
namespace {

constexpr int kLongestPatience = 86400;  // in seconds

double seconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// R: it runs or would like to; D: it waits for a disk; S: it sleeps.
char state_of_thread(const std::string& stat_file) {
  std::ifstream file(stat_file);
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may hold anything
  return name_end == std::string::npos || name_end + 2 >= text.size() ? 'R' : text[name_end + 2];
}

}  // namespace

absl::StatusOr<double> patience_with_ranks() {
  const char* const said = std::getenv("QKV_PATIENCE");
  double seconds = 20;
  if (!said) return seconds;
  if (absl::SimpleAtod(said, &seconds) && seconds > 0 && seconds <= kLongestPatience) {
    return seconds;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("QKV_PATIENCE is \"", said,
                   "\", but must be a number of seconds, at most a day's: ", kLongestPatience));
}

RankWatch::RankWatch(Ranks& ranks, std::vector<std::string> names, double patience)
    : ranks_(ranks),
      signs_(ranks.rank(), std::move(names), patience),
      patience_(patience),
      state_file_(absl::StrCat("/proc/self/task/", gettid(), "/stat")) {
  for (int other = 0; other < ranks.size(); ++other) {
    if (other == ranks.rank() || (ranks.rank() != 0 && other != 0)) continue;
    peers_.push_back(
        {.rank = other, .incoming = {}, .outgoing = {}, .receiving = {}, .sending = {}});
  }
  if (!peers_.empty()) thread_ = std::thread([this] { watch(); });
}

RankWatch::~RankWatch() {
  {
    const std::scoped_lock lock(mutex_);
    leaves_ = true;
  }
  leaves_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RankWatch::watch() {
  std::string wrong;
  try {
    for (Peer& peer : peers_) {
      peer.receiving =
          ranks_.receive(peer.rank, Ranks::kLife, bytes_of(std::span(&peer.incoming, 1)));
    }
    const double interval = std::min(1.0, patience_ / 10);
    double since_told = interval;
    for (auto last = Clock::now(); wrong.empty();) {
      const bool leaves = pause();
      // A process that was stopped, and goes on, has not waited all this time.
      const double seconds = std::min(1.0, seconds_since(last));
      last = Clock::now();
      listen();
      since_told += seconds;
      if (leaves || since_told >= interval) {
        const LifeSign sign = leaves ? LifeSign{LifeSign::kLeaves, 0} : look_at_this_rank();
        since_told = 0;
        signs_.note_own(sign);
        tell(sign);
      }
      if (leaves && signs_.alone() && all_know_that_it_leaves()) return;
      wrong = signs_.pass(seconds);
    }
  } catch (const RanksError& error) {
    wrong = error.what();
  }
  const std::string text = absl::StrCat(
      is_terminal(stdout) ? "\r\x1b[K" : "",  // over the line that says how far the run is
      "error: ", wrong, "\nall ranks end; the last checkpoint is whole, and --resume continues\n");
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ranks_.abort(1);
}

// Returns whether this rank leaves, which is soon done.
bool RankWatch::pause() {
  std::unique_lock lock(mutex_);
  leaves_changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return leaves_; });
  if (!leaves_) return false;
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

void RankWatch::listen() {
  for (Peer& peer : peers_) {
    if (const int64_t arrivals = ranks_.arrivals(peer.rank); arrivals != peer.arrivals) {
      peer.arrivals = arrivals;
      signs_.heard(peer.rank);
    }
    if (!peer.sending.done()) ranks_.poll(peer.sending);
    if (peer.receiving.done()) continue;  // it has left
    ranks_.poll(peer.receiving);
    if (!peer.receiving.done()) continue;
    signs_.heard(peer.rank, peer.incoming);
    if (peer.incoming.what == LifeSign::kLeaves) continue;
    peer.receiving =
        ranks_.receive(peer.rank, Ranks::kLife, bytes_of(std::span(&peer.incoming, 1)));
  }
}

// One sign at a time is on its way to each.
void RankWatch::tell(const LifeSign& sign) {
  for (Peer& peer : peers_) {
    if (!peer.sending.done() || peer.outgoing.what == LifeSign::kLeaves) continue;
    peer.outgoing = sign;
    peer.sending =
        ranks_.send(peer.rank, Ranks::kLife, std::as_bytes(std::span(&peer.outgoing, 1)));
  }
}

bool RankWatch::all_know_that_it_leaves() const {
  return std::ranges::all_of(peers_, [](const Peer& peer) {
    return peer.sending.done() && peer.outgoing.what == LifeSign::kLeaves;
  });
}

LifeSign RankWatch::look_at_this_rank() {
  LifeSign sign;
  for (int from = 0; from < ranks_.size(); ++from) sign.arrivals += ranks_.arrivals(from);
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
  const double used = cpu - cpu_seconds_;
  cpu_seconds_ = cpu;
  if (ranks_.waits()) {
    sign.what = LifeSign::kWaits;
  } else if (used < 0.001 && state_of_thread(state_file_) == 'S') {
    sign.what = LifeSign::kIdles;
  }
  return sign;
}

}  // namespace qkv
