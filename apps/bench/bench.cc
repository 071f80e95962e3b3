#include "apps/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <tuple>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/array.h"
#include "framework/core/clock.h"
#include "framework/core/memory/storage.h"
#include "framework/core/random.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/matmul.h"
#include "framework/kernels/product/product_log.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "train/folder/experiment.h"
#include "train/generate/generate.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

using kernels::Product;

// The products of a step, back to back. Each matrix of the step has a buffer of its own here, so
// that it comes from the same level of the memory. Nothing reads the results of products, so that
// the numbers stay the same.
class Floor {
 public:
  explicit Floor(const std::vector<Product>& products) {
    for (const Product& p : products) {
      const Shape bias_shape = {p.c[2]};
      const DType bias_dtype = computed_dtype(p.result_dtype);
      calls_.push_back(
          {.product = p,
           .a = buffer(Role::kInput, p.a_data, p.a, p.operand_dtype),
           .b = buffer(Role::kInput, p.b_data, p.b, p.operand_dtype),
           .c = buffer(Role::kOutput, p.c_data, p.c, p.result_dtype),
           .bias = p.has_bias ? buffer(Role::kInput, nullptr, bias_shape, bias_dtype) : Array()});
    }
  }

  // As a step computes them.
  void run_cut() {
    for (Call& call : calls_) {
      const Product& p = call.product;
      kernels::matmul(call.a, call.b, p.transpose_a, p.transpose_b, call.bias_or_null(), call.c);
    }
  }

  // As fast as the library can.
  void run_whole() {
    if (whole_.empty()) {
      for (Call& call : calls_) {
        const Product& p = call.product;
        whole_.push_back(kernels::library_product(call.a, call.b, p.transpose_a, p.transpose_b,
                                                  call.bias_or_null(), call.c));
      }
    }
    for (const auto& product : whole_) product();
  }

 private:
  enum class Role { kInput, kOutput };
  struct Call {
    Product product;
    Array a, b, c, bias;

    const Array* bias_or_null() const { return product.has_bias ? &bias : nullptr; }
  };

  Array buffer(Role role, const void* where, const Shape& shape, DType dtype) {
    Array& array = buffers_[{role, where, dtype, {shape.begin(), shape.end()}}];
    if (!array.defined()) {
      Array numbers(shape, dtype == DType::bf16 ? DType::f32 : dtype);
      kernels::fill_normal(RandomStream(buffers_.size()), 0.0, 1.0, numbers);
      array = Array(shape, dtype);
      kernels::cast(numbers, array);
    }
    return array;
  }

  std::map<std::tuple<Role, const void*, DType, std::vector<int64_t>>, Array> buffers_;
  std::vector<Call> calls_;
  std::vector<std::function<void()>> whole_;
};

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

Quartiles quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double milliseconds_of(absl::FunctionRef<void()> f) {
  const auto start = Clock::now();
  f();
  return 1e3 * seconds_since(start);
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

absl::StatusOr<StepMeasurement> measure_steps(const Config& config, const Dataset& dataset,
                                              int64_t steps, const TellProgress& tell) {
  constexpr int64_t kTurn = 5;  // steps, then as many floors: the first finds a cold cache
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  Trainer trainer(config, dataset);
  // The library's threads go on watching for work, and would take a core from the next step.
  constexpr auto kUntilTheySleep = std::chrono::milliseconds(20);
  std::vector<double> warm_up, step_ms, floor_ms, cut_ms, profiled;
  tell("warming up");
  RETURN_IF_ERROR(make_steps(trainer, (steps + 2) / 3, warm_up));

  reset_peak_bytes_in_use();
  const kernels::ProductLog log;
  RETURN_IF_ERROR(make_steps(trainer, 1, warm_up));
  const uint64_t peak_bytes = allocator_statistics().peak_bytes_in_use;
  const double flops = log.flops();
  std::optional<Floor> floor;
  if (flops > 0) floor.emplace(log.products());
  if (floor) {
    floor->run_cut();
    floor->run_whole();
  }

  while (std::ssize(step_ms) < steps) {
    tell(absl::StrCat("measured ", step_ms.size(), " of ", steps, " steps"));
    const int64_t turn = std::min(kTurn, steps - std::ssize(step_ms));
    std::this_thread::sleep_for(kUntilTheySleep);
    RETURN_IF_ERROR(make_steps(trainer, turn, step_ms));
    for (int64_t i = 0; floor && i < turn; ++i) {
      cut_ms.push_back(milliseconds_of([&] { floor->run_cut(); }));
    }
    for (int64_t i = 0; floor && i < turn; ++i) {
      floor_ms.push_back(milliseconds_of([&] { floor->run_whole(); }));
    }
  }

  const int64_t profiled_steps = std::min<int64_t>(steps, 10);
  tell("measuring single ops");
  Profiler profiler;
  RETURN_IF_ERROR(make_steps(trainer, profiled_steps, profiled));

  const Quartiles step_quartiles = quartiles(step_ms);
  std::optional<FloorMeasurement> measured_floor;
  if (floor) {
    const Quartiles ms = quartiles(floor_ms);
    measured_floor = {.ms = ms,
                      .gflops = flops / ms.median * 1e-6,
                      .ratio = step_quartiles.median / ms.median,
                      .cut_ms = quartiles(cut_ms).median};
  }
  const Batch batch = dataset.training_batch(0, config.train.batch_size);
  return StepMeasurement{
      .step_ms = step_quartiles,
      .floor = measured_floor,
      .tokens_per_second = static_cast<double>(batch.tokens()) / step_quartiles.median * 1e3,
      .gflops = flops / step_quartiles.median * 1e-6,
      .peak_bytes = peak_bytes,
      .steps = steps,
      .parameters = parameter_count(parameters(trainer.model())),
      .threads = kernels::num_threads(),
      .profile = profiler.rows(),
      .profiled_steps = profiled_steps};
}

std::string floor_text(const std::optional<FloorMeasurement>& floor) {
  if (!floor) return "floor  none: a step of this model has no matrix products\n";
  return absl::StrFormat(
      "floor  %9.3f ms (quartiles %.3f and %.3f): the matrix products alone\n"
      "       %9.1f GFLOP/s\n"
      "cut    %9.3f ms: the same products in the pieces that a step computes\n"
      "ratio  %9.2f\n",
      floor->ms.median, floor->ms.lower, floor->ms.upper, floor->gflops, floor->cut_ms,
      floor->ratio);
}

absl::StatusOr<double> measure_step_time(const Config& config, const Dataset& dataset,
                                         int64_t steps) {
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  Trainer trainer(config, dataset);
  std::vector<double> warm_up, step_ms;
  RETURN_IF_ERROR(make_steps(trainer, (steps + 2) / 3, warm_up));
  RETURN_IF_ERROR(make_steps(trainer, steps, step_ms));
  return quartiles(step_ms).median;
}

GenerationSpeed measure_generation(const Config& config, const Dataset& dataset) {
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  const Model model = make_model(config, dataset.shape());
  const int64_t length = model.data().max_length;
  const Tokens prompt(static_cast<size_t>(std::max<int64_t>(1, model.data().source_length)), 0);
  const auto tokens_per_second = [&](bool with_cache) {
    const auto write = [&] {
      KeyValueCache cache;
      RandomStream random(config.seed);
      Tokens written;
      while (std::ssize(written) + 1 < length) {
        written.push_back(
            sample_next(model, prompt, written, {}, random, with_cache ? &cache : nullptr));
      }
    };
    write();  // to warm up
    return static_cast<double>(length - 1) / milliseconds_of(write) * 1e3;
  };
  return {.tokens_per_second = tokens_per_second(true), .without_cache = tokens_per_second(false)};
}

}  // namespace qkv
