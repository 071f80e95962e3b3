#include "tests/train/distributed/thread_ranks.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace qkv {

class ThreadRanks::Rank final : public Ranks {
 public:
  Rank(int rank, int size, ThreadRanks& all) : Ranks(rank, size), all_(all) {}

  Message send(int to, int subject, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(all_.mutex_);
    all_.sent_[{rank(), to, subject}].emplace_back(bytes.begin(), bytes.end());
    all_.bytes_[{rank(), std::min<int>(subject, kGradients)}] += std::ssize(bytes);
    return {};
  }

  Message receive(int from, int subject, std::span<std::byte> bytes) override {
    const std::lock_guard lock(all_.mutex_);
    waiting_.push_back({{from, rank(), subject}, bytes});
    return {std::ssize(waiting_) - 1};
  }

  // Messages of one place are received in the order in which they were asked for.
  void poll(Message& message) override {
    const std::lock_guard lock(all_.mutex_);
    const Waiting& asked = waiting_[static_cast<size_t>(message.slot)];
    for (Waiting& waiting : waiting_) {
      auto& queue = all_.sent_[waiting.place];
      if (waiting.place != asked.place || waiting.done || queue.empty()) continue;
      if (queue.front().size() != waiting.bytes.size()) std::abort();
      std::ranges::copy(queue.front(), waiting.bytes.begin());
      queue.pop_front();
      waiting.done = true;
    }
    if (asked.done) message.slot = -1;
  }

  [[noreturn]] void abort(int) override { std::abort(); }
  std::string host() const override { return "host"; }

 private:
  struct Waiting {
    Place place;
    std::span<std::byte> bytes;
    bool done = false;
  };

  ThreadRanks& all_;
  std::vector<Waiting> waiting_;
};

ThreadRanks::ThreadRanks(int size) : size_(size) {}

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

int64_t ThreadRanks::bytes_sent(int rank, Ranks::Subject subject) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_.find({rank, subject});
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace qkv
