#include "framework/kernels/parallel.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace qkv::kernels {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_num_threads(0); }
};

using Piece = std::tuple<int64_t, int64_t, int64_t>;  // number, begin, end

std::vector<Piece> pieces_of(int64_t count, int64_t grain) {
  std::vector<Piece> pieces(static_cast<size_t>(num_pieces(count, grain)));
  parallel_pieces(count, grain, [&](int64_t piece, int64_t begin, int64_t end) {
    pieces.at(static_cast<size_t>(piece)) = {piece, begin, end};
  });
  return pieces;
}

TEST_F(Parallel, PiecesCoverEverythingOnceInOrder) {
  set_num_threads(2);
  for (const int64_t count : {0, 1, 2, 3, 7, 64, 65, 1000, 12345}) {
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

TEST_F(Parallel, PiecesDoNotDependOnThreads) {
  set_num_threads(1);
  const auto one = pieces_of(1000, 10);
  EXPECT_GT(one.size(), 8u);
  for (const int threads : {2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(pieces_of(1000, 10), one);
  }
}

TEST_F(Parallel, SumsHaveTheSameBitsForAnyThreads) {
  const auto sum = [] {
    return parallel_sum(100000, 100, [](int64_t begin, int64_t end) {
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

TEST_F(Parallel, ManySmallJobsLoseNothing) {
  set_num_threads(3);
  std::vector<int64_t> counts(97, 0);
  for (int job = 0; job < 20000; ++job) {
    parallel_for(97, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
    });
  }
  for (const int64_t count : counts) EXPECT_EQ(count, 20000);
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

TEST_F(Parallel, SeveralCallersAreServed) {
  set_num_threads(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) {
        parallel_for(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 500 * 64);
}

TEST_F(Parallel, AnExceptionReachesTheCallerAndTheNextJobRuns) {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(16, 1,
                              [](int64_t begin, int64_t) {
                                if (begin >= 5) throw std::runtime_error("five");
                              }),
                 std::runtime_error);
    std::atomic<int64_t> sum{0};
    parallel_for(16, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 16);
  }
}

TEST_F(Parallel, ZeroThreadsMeansOneForEachCore) {
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
  set_num_threads(7);
  EXPECT_EQ(num_threads(), 7);
}

}  // namespace
}  // namespace qkv::kernels
