#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "apps/cluster/ranks.h"

namespace qkv {

// Ranks that are threads of one process: what needs no MPI is tested with them.
class ThreadRanks {
 public:
  // Calls f(ranks) on each of `size` threads, and returns when all are through.
  explicit ThreadRanks(int size) : size_(size) {}
  void run(const std::function<void(Ranks&)>& f);

  int64_t bytes_sent() const { return bytes_; }  // by all ranks

 private:
  class Rank;

  int size_;
  std::mutex mutex_;
  std::condition_variable sent_changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent_;  // from, to
  int64_t bytes_ = 0;
};

}  // namespace qkv
