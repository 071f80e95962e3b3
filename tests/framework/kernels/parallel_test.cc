#include "framework/kernels/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <limits>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "framework/core/error.h"

namespace qkv::kernels {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_num_threads(0); }
};

using PieceOfWork = std::tuple<int64_t, int64_t, int64_t>;  // number, begin, end

std::vector<PieceOfWork> pieces_of(int64_t count, int64_t grain) {
  std::vector<PieceOfWork> pieces(static_cast<size_t>(num_pieces(count, grain)));
  parallel_pieces(count, grain, [&](int64_t piece, int64_t begin, int64_t end) {
    pieces.at(static_cast<size_t>(piece)) = {piece, begin, end};
  });
  return pieces;
}

TEST_F(Parallel, PiecesCoverEverythingOnceInOrder) {
  set_num_threads(2);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7},
                              int64_t{64}, int64_t{65}, int64_t{1000}, int64_t{12345}, kMost}) {
    for (const int64_t grain : {0, 1, 2, 10, 100000}) {
      int64_t next = 0;
      for (const auto& [piece, begin, end] : pieces_of(count, grain)) {
        EXPECT_EQ(begin, next);
        EXPECT_LT(begin, end);
        EXPECT_TRUE(end - begin >= grain || end - begin == count);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST_F(Parallel, SumsHaveTheSameBitsForAnyThreads) {
  const auto sum = [] {
    return parallel_sum<double>(100000, 100, [](int64_t begin, int64_t end) {
      double total = 0;
      for (int64_t i = begin; i < end; ++i) total += 1.0 / static_cast<double>(i + 1);
      return total;
    });
  };
  set_num_threads(1);
  const double one = sum();
  EXPECT_NEAR(one, 12.090146129863428, 1e-9);
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(sum(), one);
  }
}

TEST_F(Parallel, PiecesRunAtTheSameTime) {
  set_num_threads(2);
  std::atomic<int> begun{0};
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();  // for ever, were there one thread
  });
  EXPECT_EQ(begun, 2);
}

TEST_F(Parallel, WorkWithinAPieceIsDone) {
  set_num_threads(2);
  std::atomic<int64_t> sum{0};
  parallel_for(8, 1, [&](int64_t outer_begin, int64_t outer_end) {
    for (int64_t i = outer_begin; i < outer_end; ++i) {
      parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    }
  });
  EXPECT_EQ(sum, 800);
}

TEST_F(Parallel, ZeroThreadsMeansOneForEachCoreAndManyAreAsManyAsThereArePieces) {
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
  set_num_threads(7);
  EXPECT_EQ(num_threads(), 7);
  set_num_threads(4096);
  EXPECT_EQ(num_threads(), num_pieces(1'000'000, 1));
  EXPECT_THROW(set_num_threads(-1), Error);
}

// The signals that are blocked, of those that a program may block.
std::set<int> blocked_signals() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::set<int> blocked;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const bool ours = signal != SIGKILL && signal != SIGSTOP && (signal < 32 || signal >= SIGRTMIN);
    if (ours && ::sigismember(&mask, signal) == 1) blocked.insert(signal);
  }
  return blocked;
}

TEST_F(Parallel, NoSignalIsHandledOnAThreadOfThePool) {
  const std::set<int> before = blocked_signals();
  set_num_threads(4);
  std::array<std::set<int>, 4> blocked;
  std::atomic<int> begun{0};
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(4, 1, [&](int64_t begin, int64_t) {
    if (std::this_thread::get_id() != caller) {
      blocked.at(static_cast<size_t>(begin)) = blocked_signals();
    }
    ++begun;
    while (begun < 4) std::this_thread::yield();  // each piece has a thread of its own
  });
  const size_t all = 31 - 2 + static_cast<size_t>(SIGRTMAX) - static_cast<size_t>(SIGRTMIN) + 1;
  EXPECT_EQ(std::ranges::count(blocked, all, &std::set<int>::size), 3);
  EXPECT_EQ(blocked_signals(), before);
  EXPECT_LT(before.size(), all);
}

// While one lives, threads ask for larger stacks than any machine has, and can't be started.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    ::pthread_attr_setstacksize(&huge, size_t{1} << 47);
    EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

int64_t counted_by_pieces() {
  std::atomic<int64_t> sum{0};
  parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  return sum;
}

TEST_F(Parallel, MakesDoWithTheThreadsThatItGetsAndAsksAgainWhenItIsTold) {
  {
    const NoThreads no_threads;
    set_num_threads(3);
    const StartedThreads started = start_threads();
    EXPECT_EQ(started.count, 1);
    EXPECT_EQ(started.why_fewer, std::generic_category().message(EAGAIN));
    EXPECT_EQ(counted_by_pieces(), 1000);
  }
  EXPECT_EQ(counted_by_pieces(), 1000);
  EXPECT_EQ(start_threads().count, 1);
  set_num_threads(3);
  EXPECT_EQ(start_threads().count, 3);
  EXPECT_EQ(start_threads().why_fewer, "");
  EXPECT_EQ(counted_by_pieces(), 1000);
}

// As a user who may have five threads.
void count_with_few_threads() {
  constexpr uid_t kNobodyElse = 54321;  // root may have any number
  if (::geteuid() == 0 && ::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) != 0) ::_exit(1);
  const rlimit five{5, 5};
  ::setrlimit(RLIMIT_NPROC, &five);
  set_num_threads(8);
  const StartedThreads started = start_threads();
  const bool right = started.count < 8 && !started.why_fewer.empty() && counted_by_pieces() == 1000;
  set_num_threads(1);  // lets go of those that were started
  ::_exit(right && start_threads().count == 1 ? 0 : 2);
}

TEST(ParallelDeathTest, SomeThreadsAreBetterThanNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(count_with_few_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace qkv::kernels
