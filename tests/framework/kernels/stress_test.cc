// Threads that do at the same time what each may do alone.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/product_log.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/bf16.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int kThreads = 4;

class StressTest : public testing::Test {
 protected:
  ~StressTest() override { kernels::set_num_threads(0); }

  // Calls f(0), f(1), … on threads of their own, all at once.
  static void all_at_once(const std::function<void(int)>& f) {
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        f(t);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(StressTest, JobsExceptionsAndNumbersOfThreadsMixAsTheyCome) {
  std::atomic<int64_t> sum{0}, caught{0};
  all_at_once([&](int t) {
    for (int i = 0; i < 200; ++i) {
      if ((i + t) % 5 == 0) kernels::set_num_threads(1 + (i + t) % 4);
      try {
        kernels::parallel_for(64, 1, [&](int64_t begin, int64_t end) {
          sum += end - begin;
          if ((i + t) % 7 == 0 && begin == 63) throw std::runtime_error("the last piece");
        });
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
  });
  EXPECT_EQ(sum, kThreads * 200 * 64);
  int64_t thrown = 0;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < 200; ++i) thrown += (i + t) % 7 == 0;
  }
  EXPECT_EQ(caught, thrown);
}

TEST_F(StressTest, PiecesMakeAndLetGoOfEachOthersArrays) {
  kernels::set_num_threads(3);
  const uint64_t before = allocator_statistics().bytes_in_use;
  std::vector<Array> arrays(64);
  for (int i = 0; i < 100; ++i) {
    kernels::parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      const ThreadMemory memory;
      for (int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<size_t>((k + i) % 64);  // mostly another thread's
        arrays[at] = Array::full({1 + (k * 37) % 500}, DType::f32, static_cast<double>(k));
        EXPECT_EQ(arrays[at].data<float>()[0], static_cast<float>(k));
      }
    });
  }
  arrays.clear();
  EXPECT_EQ(allocator_statistics().bytes_in_use, before);
}

// [N, M, K] by [N, K, L], of ones: every number of the product is K.
void expect_products_of_ones(int64_t n, int64_t m, int64_t k, int64_t l) {
  const Tensor y = matmul(ones({n, m, k}), ones({n, k, l}));
  for (const double value : y.to_vector()) ASSERT_EQ(value, static_cast<double>(k));
}

TEST_F(StressTest, EveryThreadMayBeTheFirstToMultiplyMatricesOfASize) {
  kernels::set_num_threads(2);
  all_at_once([](int t) {
    const kernels::ProductLog log;
    for (int64_t size = 1; size <= 12; ++size) {
      expect_products_of_ones(1, 3 * size, size, 5 + size);
      expect_products_of_ones(t + 1, 40, 7, size);
    }
    expect_products_of_ones(1, 300, 64, 200);  // in pieces
    EXPECT_EQ(log.products().size(), 25u);
  });
}

TEST_F(StressTest, EveryThreadMayBeTheFirstToRoundAWeight) {
  const Tensor weight = ones({20, 30});
  const auto rounded = std::make_shared<RoundedWeight>();
  all_at_once([&](int) {
    const NoGrad no_grad;
    for (int i = 0; i < 20; ++i) {
      const Tensor y =
          linear(ones({4, 30}, DType::bf16), weight, Tensor(), {.rounded_weight = rounded});
      for (const double value : y.to_vector()) ASSERT_EQ(value, 30.0);
    }
  });
}

TEST_F(StressTest, ThreadsBuildGraphsOfTheSameParameters) {
  kernels::set_num_threads(2);
  const Tensor x = parameter(Array::full({64, 33}, DType::f32, 0.5));
  const Tensor w = parameter(Array::full({17, 33}, DType::f32, 0.25));
  std::vector<std::string> gradients(kThreads);
  all_at_once([&](int t) {
    for (int i = 0; i < 5; ++i) {
      const Scope scope("thread");
      const Gradients g = backward(sum(gelu(linear(softmax(x), w, Tensor()))));
      gradients[static_cast<size_t>(t)] = bits(g[x]) + bits(g[w]);
    }
  });
  for (const std::string& gradient : gradients) EXPECT_EQ(gradient, gradients[0]);
}

}  // namespace
}  // namespace qkv
