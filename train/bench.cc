#include "train/bench.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "framework/core/array.h"
#include "framework/core/random.h"
#include "framework/core/storage.h"
#include "framework/kernels/elementwise.h"
#include "framework/kernels/matmul.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_log.h"
#include "framework/kernels/random.h"
#include "train/trainer.h"

namespace qkv {
namespace {

using kernels::Product;

// The products of a step, back to back. Matrices of one shape and role share a buffer: the floor
// waits less for memory than a step can, and never more.
class Floor {
 public:
  explicit Floor(const std::vector<Product>& products) {
    for (const Product& p : products) {
      calls_.push_back({.product = p,
                        .a = buffer(0, p.a, p.operand_dtype),
                        .b = buffer(1, p.b, p.operand_dtype),
                        .c = buffer(2, p.c, p.result_dtype),
                        .bias = p.has_bias ? buffer(3, {p.c[2]}, p.operand_dtype) : Array()});
    }
  }

  void run() {
    for (Call& call : calls_) {
      const Product& p = call.product;
      kernels::matmul(call.a, call.b, p.transpose_a, p.transpose_b,
                      p.has_bias ? &call.bias : nullptr, call.c);
    }
  }

 private:
  struct Call {
    Product product;
    Array a, b, c, bias;
  };

  Array buffer(int role, const Shape& shape, DType dtype) {
    Array& array = buffers_[{role, dtype, {shape.begin(), shape.end()}}];
    if (!array.defined()) {
      Array numbers(shape, dtype == DType::bf16 ? DType::f32 : dtype);
      kernels::fill_normal(RandomStream(static_cast<uint64_t>(role)), 0.0, 1.0, numbers);
      array = Array(shape, dtype);
      kernels::cast(numbers, array);
    }
    return array;
  }

  std::map<std::tuple<int, DType, std::vector<int64_t>>, Array> buffers_;
  std::vector<Call> calls_;
};

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

Quartiles quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

// Makes `count` steps, and adds their times.
absl::Status make_steps(Trainer& trainer, int64_t count, std::vector<double>& milliseconds) {
  for (int64_t i = 0; i < count; ++i) {
    absl::Status status;
    const double ms = milliseconds_of([&] { status = trainer.step().status(); });
    if (!status.ok()) return status;
    milliseconds.push_back(ms);
  }
  return absl::OkStatus();
}

}  // namespace

double milliseconds_of(absl::FunctionRef<void()> f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

absl::StatusOr<StepMeasurement> measure_steps(const Config& config, const Dataset& dataset,
                                              int64_t steps) {
  constexpr int64_t kTurn = 5;  // steps, then as many floors: the first finds a cold cache
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  Trainer trainer(config, dataset);
  std::vector<double> warm_up, step_ms, floor_ms, profiled;
  if (auto s = make_steps(trainer, (steps + 2) / 3, warm_up); !s.ok()) return s;

  reset_peak_bytes_in_use();
  const kernels::ProductLog log;
  if (auto s = make_steps(trainer, 1, warm_up); !s.ok()) return s;
  const uint64_t peak_bytes = allocator_statistics().peak_bytes_in_use;
  const double flops = log.flops();
  Floor floor(log.products());
  floor.run();

  while (std::ssize(step_ms) < steps) {
    const int64_t turn = std::min(kTurn, steps - std::ssize(step_ms));
    if (auto s = make_steps(trainer, turn, step_ms); !s.ok()) return s;
    for (int64_t i = 0; i < turn; ++i) {
      floor_ms.push_back(milliseconds_of([&] { floor.run(); }));
    }
  }

  const int64_t profiled_steps = std::min<int64_t>(steps, 10);
  Profiler profiler;
  if (auto s = make_steps(trainer, profiled_steps, profiled); !s.ok()) return s;

  const Quartiles step_quartiles = quartiles(step_ms), floor_quartiles = quartiles(floor_ms);
  const Batch batch = dataset.training_batch(0, config.train.batch_size);
  return StepMeasurement{
      .step_ms = step_quartiles,
      .floor_ms = floor_quartiles,
      .ratio = step_quartiles.median / floor_quartiles.median,
      .tokens_per_second = static_cast<double>(batch.inputs.size()) / step_quartiles.median * 1e3,
      .gflops = flops / step_quartiles.median * 1e-6,
      .floor_gflops = flops / floor_quartiles.median * 1e-6,
      .peak_bytes = peak_bytes,
      .steps = steps,
      .parameters = parameter_count(parameters(trainer.model())),
      .threads = kernels::num_threads(),
      .profile = profiler.rows(),
      .profiled_steps = profiled_steps};
}

}  // namespace qkv
