#include "framework/kernels/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/signals_blocked.h"

namespace qkv::kernels {
namespace {

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
  // With fewer threads where the system gives no more: the numbers are the same.
  explicit Pool(int threads) : shares_(static_cast<size_t>(threads)) {
    workers_.reserve(shares_.size() - 1);
    // Those who begin here inherit it. oneDNN's product of f32 matrices moves the stack pointer
    // into a matrix of its own while it computes (2.6, gemm:jit), and a handler would write its
    // frame over the numbers there.
    const SignalsBlocked blocked;
    try {
      for (size_t self = 1; self < shares_.size(); ++self) {
        workers_.emplace_back([this, self] { work(self); });
      }
    } catch (const std::system_error& error) {
      why_fewer_ = error.code().message();
    } catch (const std::bad_alloc&) {
      why_fewer_ = "there is not enough memory";
    }
  }

  ~Pool() {
    stop_ = true;
    announce();
    for (std::thread& worker : workers_) worker.join();
  }

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  const std::string& why_fewer() const { return why_fewer_; }

  // Calls f(piece) for 0 … pieces - 1. One job at a time.
  void run(int64_t pieces, absl::FunctionRef<void(int64_t)> f) {
    job_ = &f;
    failed_ = false;
    failure_ = nullptr;
    unfinished_.store(pieces, std::memory_order_relaxed);
    ++job_number_;
    const int64_t count = threads();
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
    // With a thread's first allocation, its heap takes 64 MiB of addresses: before arrays take what
    // there is, and not in the midst of oneDNN, which ends the program when it gets no memory.
    void* volatile first = std::malloc(1);
    std::free(first);
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
  std::string why_fewer_;  // threads than shares; the last shares stay empty
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

// QKV_THREADS, which whoever starts a program may set.
int most_threads() {
  const char* const said = std::getenv("QKV_THREADS");
  return said ? std::clamp(std::atoi(said), 1, int{kMostPieces}) : int{kMostPieces};
}

std::atomic<int> requested_threads{0};
std::atomic<uint64_t> requests{0};
std::atomic<bool> pool_in_use{false};

// Hands the pool out again at its end.
struct UseOfPool {
  UseOfPool() = default;
  ~UseOfPool() { pool_in_use.store(false, std::memory_order_release); }
  UseOfPool(const UseOfPool&) = delete;
  UseOfPool& operator=(const UseOfPool&) = delete;

  static bool begins() { return !pool_in_use.exchange(true, std::memory_order_acquire); }
};

// Called by whoever uses the pool. Never destroyed at exit: its threads may still look at it.
Pool& pool() {
  static std::unique_ptr<Pool>& instance = *new std::unique_ptr<Pool>;
  static uint64_t answered = 0;  // the request that the pool was made for
  const uint64_t request = requests;
  const int wanted = num_threads();
  if (!instance || (instance->threads() != wanted && answered != request)) {
    instance.reset();
    instance = std::make_unique<Pool>(wanted);
    answered = request;
  }
  return *instance;
}

}  // namespace

void set_num_threads(int threads) {
  if (threads < 0) fail(absl::StrCat("set_num_threads: ", threads, " is negative"));
  requested_threads = threads;
  ++requests;
}

int num_threads() {
  const int requested = requested_threads;
  static const int all = cores(), most = most_threads();
  return std::min(requested > 0 ? requested : all, most);
}

StartedThreads start_threads() {
  if (!UseOfPool::begins()) return {};
  const UseOfPool use;
  return {pool().threads(), pool().why_fewer()};
}

int64_t num_pieces(int64_t count, int64_t grain) {
  if (count <= 0) return 0;
  // A power of two shares evenly among 2, 4, 8, … threads.
  const int64_t wanted = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, kMostPieces);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
}

void parallel_pieces(int64_t count, int64_t grain,
                     absl::FunctionRef<void(int64_t piece, int64_t begin, int64_t end)> f) {
  const int64_t pieces = num_pieces(count, grain);
  // count * piece / pieces, whose product may overflow
  const auto start_of = [&](int64_t piece) {
    return count / pieces * piece + count % pieces * piece / pieces;
  };
  const auto run = [&](int64_t piece) { f(piece, start_of(piece), start_of(piece + 1)); };
  // Within a piece, and beside another thread's job, the calling thread does it all.
  if (pieces > 1 && num_threads() > 1 && UseOfPool::begins()) {
    const UseOfPool use;
    pool().run(pieces, run);
  } else {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
  }
}

void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f) {
  parallel_pieces(count, grain, [&](int64_t, int64_t begin, int64_t end) { f(begin, end); });
}

}  // namespace qkv::kernels
