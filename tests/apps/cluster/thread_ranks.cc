#include "tests/apps/cluster/thread_ranks.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace qkv {

class ThreadRanks::Rank final : public Ranks {
 public:
  Rank(int rank, int size, ThreadRanks& all) : Ranks(rank, size), all_(all) {}

  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    std::unique_lock lock(all_.mutex_);
    for (const auto& [to, bytes] : out) {
      all_.sent_[{rank(), to}].emplace_back(bytes.begin(), bytes.end());
      all_.bytes_ += std::ssize(bytes);
    }
    all_.sent_changed_.notify_all();
    for (const auto& [from, bytes] : in) {
      auto& queue = all_.sent_[{from, rank()}];
      all_.sent_changed_.wait(lock, [&queue] { return !queue.empty(); });
      if (queue.front().size() != bytes.size()) std::abort();
      std::ranges::copy(queue.front(), bytes.begin());
      queue.pop_front();
    }
  }

  [[noreturn]] void abort(int) override { std::abort(); }
  std::string host() const override { return "host"; }

 private:
  ThreadRanks& all_;
};

void ThreadRanks::run(const std::function<void(Ranks&)>& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < size_; ++i) {
    threads.emplace_back([&, i] {
      Rank rank(i, size_, *this);
      f(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace qkv
