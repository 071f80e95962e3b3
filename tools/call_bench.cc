// What calls of the engine cost in C++: seconds of matmul, 512 x 512 in f32, and of the smallest
// op. tools/python-bench compares them with those of Python.
//   ninja call_bench && ./call_bench

#include <chrono>
#include <cstdio>

#include "framework/core/random.h"
#include "framework/ops/ops.h"

namespace {

template <class F>
double seconds_of(int calls, F f) {
  f();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) f();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / calls;
}

}  // namespace

int main() {
  qkv::RandomStream stream(1);
  const qkv::Tensor a = qkv::random_normal({512, 512}, stream);
  const qkv::Tensor b = qkv::random_normal({512, 512}, stream);
  const qkv::Tensor one = qkv::ones({1});
  std::printf("%.9f %.9f\n", seconds_of(200, [&] { qkv::matmul(a, b); }),
              seconds_of(20'000, [&] { qkv::neg(one); }));
}
