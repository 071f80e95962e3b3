#include "framework/kernels/parallel.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

namespace qkv::kernels {
namespace {

// Enough to share evenly among the cores of a desktop, few enough to cost nothing.
constexpr int64_t kMaxPieces = 64;
// How long an idle thread watches for work before it sleeps. The gaps between the kernels of a
// training step are shorter; waking takes tens of microseconds.
constexpr auto kPatience = std::chrono::microseconds(300);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Waits, without sleeping, until `ready` or until patience ends; says which.
template <class Ready>
bool watch(Ready ready) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// Threads that share the pieces of one job at a time. Each thread has a share of the pieces, the
// same for every job of that size, so that it finds in its cache what it wrote in the job before;
// when it is through it takes pieces from the others. A job is over when its pieces are done, not
// when every thread has come: a thread that the system has taken from its core holds up nobody,
// which OpenMP's barriers do not give.
class Pool {
 public:
  explicit Pool(int threads) : shares_(static_cast<size_t>(threads)) {
    for (size_t self = 1; self < shares_.size(); ++self) {
      workers_.emplace_back([this, self] { work(self); });
    }
  }

  ~Pool() {
    stop_ = true;
    announce();
    for (std::thread& worker : workers_) worker.join();
  }

  int threads() const { return static_cast<int>(shares_.size()); }

  // Calls f(piece) for 0 … pieces - 1. One job at a time.
  void run(int64_t pieces, absl::FunctionRef<void(int64_t)> f) {
    job_ = &f;
    failed_ = false;
    failure_ = nullptr;
    unfinished_.store(pieces, std::memory_order_relaxed);
    ++job_number_;
    const auto count = static_cast<int64_t>(shares_.size());
    for (int64_t t = 0; t < count; ++t) {
      const auto begin = static_cast<uint64_t>(pieces * t / count);
      const auto end = static_cast<uint64_t>(pieces * (t + 1) / count);
      shares_[static_cast<size_t>(t)].ticket.store(uint64_t{job_number_} << 32 | begin << 16 | end,
                                                   std::memory_order_release);
    }
    announce();
    take_pieces(0);
    const auto done = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
    while (!watch(done)) std::this_thread::yield();  // perhaps to the thread that is waited for
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // The number of the job (32 bits), the next piece of the share and its end (16 bits each), in one
  // word: a piece that is claimed belongs to a job that can't end before it is done.
  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};

    // The next piece, or -1.
    int64_t claim() {
      uint64_t seen = ticket.load(std::memory_order_acquire);
      while (true) {
        const uint64_t next = seen >> 16 & 0xffff;
        if (next >= (seen & 0xffff)) return -1;
        if (ticket.compare_exchange_weak(seen, seen + 0x10000, std::memory_order_acq_rel)) {
          return static_cast<int64_t>(next);
        }
      }
    }
  };

  void announce() {
    announcements_.fetch_add(1);
    announcements_.notify_all();
  }

  void work(size_t self) {
    int seen = 0;
    while (true) {
      if (!watch([&] { return announcements_.load(std::memory_order_acquire) != seen; })) {
        announcements_.wait(seen);
      }
      seen = announcements_.load(std::memory_order_acquire);
      if (stop_) return;
      take_pieces(self);
    }
  }

  void take_pieces(size_t self) {
    for (size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(self + i) % shares_.size()];
      for (int64_t piece; (piece = share.claim()) >= 0;) {
        try {
          (*job_)(piece);
        } catch (...) {
          if (!failed_.exchange(true)) failure_ = std::current_exception();
        }
        unfinished_.fetch_sub(1, std::memory_order_acq_rel);
      }
    }
  }

  std::vector<Share> shares_;
  std::vector<std::thread> workers_;
  absl::FunctionRef<void(int64_t)>* job_ = nullptr;
  uint32_t job_number_ = 0;
  std::atomic<int64_t> unfinished_{0};
  std::atomic<int> announcements_{0};  // changes when there is something new to do
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // the first
};

int cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int> requested_threads{0};
std::atomic<bool> pool_in_use{false};

// Called by whoever holds `pool_in_use`. Never destroyed at exit: its threads may still look at it.
Pool& pool() {
  static Pool* instance = nullptr;
  if (!instance || instance->threads() != num_threads()) {
    delete instance;
    instance = new Pool(num_threads());
  }
  return *instance;
}

}  // namespace

void set_num_threads(int threads) { requested_threads = threads; }

int num_threads() {
  const int requested = requested_threads;
  static const int all = cores();
  return requested > 0 ? requested : all;
}

int64_t num_pieces(int64_t count, int64_t grain) {
  if (count <= 0) return 0;
  // A power of two shares evenly among 2, 4, 8, … threads.
  const int64_t wanted = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, kMaxPieces);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
}

void parallel_pieces(int64_t count, int64_t grain,
                     absl::FunctionRef<void(int64_t piece, int64_t begin, int64_t end)> f) {
  const int64_t pieces = num_pieces(count, grain);
  const auto run = [&](int64_t piece) {
    f(piece, count * piece / pieces, count * (piece + 1) / pieces);
  };
  // Within a piece, and beside another thread's job, the calling thread does it all.
  if (pieces > 1 && num_threads() > 1 && !pool_in_use.exchange(true, std::memory_order_acquire)) {
    struct Release {
      ~Release() { pool_in_use.store(false, std::memory_order_release); }
    } release;
    pool().run(pieces, run);
  } else {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
  }
}

void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f) {
  parallel_pieces(count, grain, [&](int64_t, int64_t begin, int64_t end) { f(begin, end); });
}

double parallel_sum(int64_t count, int64_t grain,
                    absl::FunctionRef<double(int64_t begin, int64_t end)> f) {
  std::array<double, kMaxPieces> partial{};
  parallel_pieces(count, grain, [&](int64_t piece, int64_t begin, int64_t end) {
    partial[static_cast<size_t>(piece)] = f(begin, end);
  });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

}  // namespace qkv::kernels
