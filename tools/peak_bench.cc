// How many operations a second the cores make when they do nothing but multiply and add: the bound
// of any matrix product here, in f32 and, where the processor has AVX-512 bf16, in bf16.
//   ninja peak_bench && ./peak_bench [threads]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "framework/kernels/vector.h"
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace qkv::kernels {
namespace {

using Sums = Vector<float>;
constexpr int kSums = 16;  // independent of each other: enough to fill the pipelines
constexpr int64_t kRounds = 20'000'000;

// Operations a second of one thread; `step` adds `operations` products to a vector of sums.
template <class Step>
double rate(double operations, Step step) {
  volatile float unknown = 1.0f;  // so that no two sums are known to be the same
  Sums sums[kSums];
  for (Sums& sum : sums) sum = Sums{} + unknown;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
    for (Sums& sum : sums) sum = step(sum);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  volatile float keep = 0;
  for (const Sums& sum : sums) keep = keep + sum[0];
  return static_cast<double>(kRounds) * kSums * operations / elapsed.count();
}

double f32_rate() {
  const Sums a = Sums{} + 0.5f, b = Sums{} + 1.0f;
  return rate(2.0 * kVectorLength<float>, [=](Sums sum) { return sum * a + b; });
}

#ifdef __AVX512BF16__
double bf16_rate() {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  return rate(4.0 * kVectorLength<float>, [=](Sums sum) -> Sums {
    return _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), ones, ones);
  });
}
#endif

void print(const char* name, size_t threads, double (*rate_of_one)()) {
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<double> rates(threads);
    std::vector<std::thread> others;
    for (double& r : rates) others.emplace_back([&r, rate_of_one] { r = rate_of_one(); });
    for (std::thread& thread : others) thread.join();
    double sum = 0;
    for (const double r : rates) sum += r;
    best = std::max(best, sum);
  }
  std::printf("{\"precision\": \"%s\", \"threads\": %zu, \"gflops\": %.0f}\n", name, threads,
              best * 1e-9);
}

void run(size_t threads) {
  print("f32", threads, f32_rate);
#ifdef __AVX512BF16__
  print("bf16", threads, bf16_rate);
#endif
}

}  // namespace
}  // namespace qkv::kernels

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  qkv::kernels::run(static_cast<size_t>(std::max(1, threads)));
}
