#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "train/distributed/life_signs.h"
#include "train/distributed/ranks.h"

namespace qkv {

// A thread beside the one that trains. It tells other ranks that this one lives, listens whether
// they do, and ends all of them after one sentence where they do not
// (train/distributed/life_signs.h). So no wait for another rank needs a limit of its own. By
// looking for its messages it also lets those of the training move on.
class RankWatch {
 public:
  // Watches the thread that makes it. All ranks of `ranks`, which must outlive it, make one.
  // `names` of the ranks, for a person; `patience` in seconds.
  RankWatch(Ranks& ranks, std::vector<std::string> names, double patience);
  // Waits until all ranks that it hears are here, too.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  struct Peer {
    int rank = 0;
    LifeSign incoming, outgoing;
    Ranks::Message receiving, sending;
    int64_t arrivals = 0;  // from it
  };

  void watch();
  void listen();
  void tell(const LifeSign& sign);
  bool all_know_that_it_leaves() const;
  LifeSign look_at_this_rank();
  bool pause();

  Ranks& ranks_;
  LifeSigns signs_;
  std::vector<Peer> peers_;  // whom it tells and hears
  double patience_;
  std::string state_file_;  // of the thread that is watched
  double cpu_seconds_ = 0;  // of all other threads, at the last look
  std::mutex mutex_;
  std::condition_variable leaves_changed_;
  bool leaves_ = false;
  std::thread thread_;
};

// For so many seconds a rank may give no sign of life: 20, or QKV_PATIENCE.
absl::StatusOr<double> patience_with_ranks();

}  // namespace qkv
