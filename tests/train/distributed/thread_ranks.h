#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "train/distributed/ranks.h"

namespace qkv {

// Ranks that are threads of one process: what needs no MPI is tested with them.
class ThreadRanks {
 public:
  // Calls f(ranks) on each of `size` threads, and returns when all are through.
  explicit ThreadRanks(int size);
  void run(const std::function<void(Ranks&)>& f);

  // By rank: how many bytes it sent about a subject; those of all buckets count as kGradients.
  int64_t bytes_sent(int rank, Ranks::Subject subject) const;

 private:
  class Rank;
  struct Place {
    int from, to, subject;
    auto operator<=>(const Place&) const = default;
  };

  int size_;
  mutable std::mutex mutex_;
  std::map<Place, std::deque<std::vector<std::byte>>> sent_;
  std::map<std::pair<int, int>, int64_t> bytes_;
};

}  // namespace qkv
