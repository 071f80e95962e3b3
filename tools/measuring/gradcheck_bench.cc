// Times the full check of multi-head attention: B 2, T 8, C 16, 4 heads, f64, by the input and all
// 8 parameters. tools/measure gradcheck-vs-pytorch times PyTorch's on the same function.
//   ninja gradcheck_bench && ./gradcheck_bench [repeats]

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "framework/gradcheck/gradcheck.h"
#include "framework/nn/mixers/attention.h"

namespace qkv {
namespace {

GradcheckReport check() {
  constexpr int64_t kWidth = 16;
  Initializer init(RandomStream(1), DType::f64);
  std::vector<Tensor> inputs = {init.normal({2, 8, kWidth}, 1.0)};
  for (int projection = 0; projection < 4; ++projection) {
    inputs.push_back(init.normal({kWidth, kWidth}, 0.25));
    inputs.push_back(init.normal({kWidth}, 0.25));
  }
  const auto f = [](std::span<const Tensor> x) {
    const auto linear = [&](size_t i) {
      Linear layer;
      layer.weight = x[i];
      layer.bias = x[i + 1];
      return layer;
    };
    MultiHeadAttention attention;
    attention.query = linear(1);
    attention.key = linear(3);
    attention.value = linear(5);
    attention.output = linear(7);
    attention.num_heads = 4;
    ForwardContext context;
    return attention(x[0], {}, context);
  };
  return gradcheck(f, inputs, {});
}

void measure(int repeats) {
  double best = 1e9;
  GradcheckReport report;
  for (int i = 0; i < repeats; ++i) {
    report = check();
    best = std::min(best, report.seconds);
  }
  std::printf("{\"seconds\": %.4f, \"passed\": %s, \"derivatives\": %lld, \"evaluations\": %lld}\n",
              best, report.passed() ? "true" : "false", static_cast<long long>(report.derivatives),
              static_cast<long long>(report.evaluations));
  if (!report.passed()) std::fputs(report.to_text().c_str(), stdout);
}

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) { qkv::measure(argc > 1 ? std::atoi(argv[1]) : 5); }
