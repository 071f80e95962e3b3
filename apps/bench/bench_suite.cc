#include "apps/bench/bench_suite.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/bench/bench.h"
#include "apps/bench/bench_shapes.h"
#include "apps/report/statistics.h"
#include "framework/core/memory/storage.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// The table as it grows: for a person line by line, for a program at the end.
class Report {
 public:
  explicit Report(const SuiteOptions& options) : options_(options) {}

  void heading(const std::string& text) const { options_.say(absl::StrCat("\n", text, "\n")); }

  void row(const char* table, Json row, const std::string& text) {
    object_[table].push_back(std::move(row));
    options_.say(text);
  }

  std::string json() const { return object_.dump() + "\n"; }

 private:
  const SuiteOptions& options_;
  Json object_;
};

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

// Every shape has a floor: a linear layer, at least.
absl::StatusOr<StepMeasurement> measure(const BenchShape& shape, Config config, int64_t threads,
                                        int64_t steps, const SuiteOptions& options) {
  config.train.threads = threads;
  release_cached_memory();
  return measure_steps(
      config, *random_data(shape, config.seed), steps, [&](const std::string& what) {
        options.tell(absl::StrCat(shape.name, ", ", name_of(config.train.precision), ": ", what));
      });
}

// Steps enough for a steady median in some seconds.
int64_t steps_of(const BenchShape& shape, const SuiteOptions& options) {
  if (options.steps > 0) return options.steps;
  const int64_t work = shape.num_layers * shape.d_model * shape.d_model * shape.length;
  return std::clamp<int64_t>(2'000'000'000 / std::max<int64_t>(work, 1), 10, 60);
}

absl::Status measure_shape(const BenchShape& shape, Precision precision,
                           const SuiteOptions& options, Report& report) {
  Config config = config_of(shape);
  config.train.precision = precision;
  const int64_t steps = steps_of(shape, options);
  const absl::StatusOr<StepMeasurement> all = measure(shape, config, 0, steps, options);
  if (!all.ok()) return all.status();
  const absl::StatusOr<StepMeasurement> one = measure(shape, config, 1, steps, options);
  if (!one.ok()) return one.status();
  const double speed_up = one->step_ms.median / all->step_ms.median;
  report.row(
      "steps",
      {{"shape", shape.name},
       {"precision", name_of(precision)},
       {"threads", all->threads},
       {"ms_per_step", all->step_ms.median},
       {"ms_lower_quartile", all->step_ms.lower},
       {"ms_upper_quartile", all->step_ms.upper},
       {"floor_ms", all->floor->ms.median},
       {"ratio", all->floor->ratio},
       {"gflops", all->gflops},
       {"tokens_per_second", all->tokens_per_second},
       {"peak_bytes", all->peak_bytes},
       {"one_thread_ms_per_step", one->step_ms.median},
       {"one_thread_floor_ms", one->floor->ms.median},
       {"speed_up", speed_up}},
      absl::StrFormat("%-7s %-4s %8.2f %-18s %8.2f %5.2f %7.1f %8.0f %8.2f\n", shape.name,
                      name_of(precision), all->step_ms.median,
                      absl::StrFormat("(%.2f to %.2f)", all->step_ms.lower, all->step_ms.upper),
                      all->floor->ms.median, all->floor->ratio, all->gflops, all->tokens_per_second,
                      speed_up));
  return absl::OkStatus();
}

// A small model that reads one sequence of T tokens.
BenchShape long_context(int64_t length) {
  BenchShape shape = bench_shapes()[1];
  shape.name = absl::StrCat("T", length);
  shape.length = length;
  shape.batch_size = 1;
  return shape;
}

// Beside the peak of memory stands what the scores of one layer alone would need as a table.
absl::Status measure_context(int64_t length, const SuiteOptions& options, Report& report) {
  const BenchShape shape = long_context(length);
  const int64_t steps =
      options.steps > 0 ? options.steps : std::clamp<int64_t>(10'000 / length, 3, 10);
  const absl::StatusOr<StepMeasurement> m = measure(shape, config_of(shape), 0, steps, options);
  if (!m.ok()) return m.status();
  const auto scores = static_cast<uint64_t>(shape.num_heads * length * length) * sizeof(float);
  report.row("long_context",
             {{"length", length},
              {"ms_per_step", m->step_ms.median},
              {"floor_ms", m->floor->ms.median},
              {"peak_bytes", m->peak_bytes},
              {"scores_bytes", scores}},
             absl::StrFormat("%6d %11.1f %11.1f %12.1f %16.1f\n", length, m->step_ms.median,
                             m->floor->ms.median, megabytes(m->peak_bytes), megabytes(scores)));
  return absl::OkStatus();
}

// The same model, where a query sees all keys before it and where it sees those next to it.
absl::Status measure_windows(const SuiteOptions& options, Report& report) {
  constexpr int64_t kWindow = 64;
  std::vector<double> lengths, windowed, full;
  const auto measure = [&](int64_t length, int64_t window, std::vector<double>& ms) {
    const BenchShape shape = long_context(length);
    Config config = config_of(shape);
    config.model.attention.window = window;
    release_cached_memory();
    options.tell(absl::StrCat(shape.name, ", window ", window));
    const int64_t steps =
        options.steps > 0 ? options.steps : std::clamp<int64_t>(20'000 / length, 3, 40);
    const absl::StatusOr<double> median =
        measure_step_time(config, *random_data(shape, config.seed), steps);
    if (median.ok()) ms.push_back(*median);
    return median.status();
  };
  for (const int64_t length : {512, 1024, 2048, 4096, 8192}) {
    if (absl::Status s = measure(length, kWindow, windowed); !s.ok()) return s;
    if (absl::Status s = measure(length, 0, full); !s.ok()) return s;
    lengths.push_back(static_cast<double>(length));
    report.row("windows",
               {{"length", length},
                {"window", kWindow},
                {"ms_per_step", windowed.back()},
                {"ms_per_step_without", full.back()}},
               absl::StrFormat("%6d %11.1f %11.1f\n", length, windowed.back(), full.back()));
  }
  const double with = growth_exponent(lengths, windowed), without = growth_exponent(lengths, full);
  report.row(
      "window_growth", {{"exponent", with}, {"exponent_without", without}},
      absl::StrFormat("time grows as T^%.2f with the window, as T^%.2f without\n", with, without));
  return absl::OkStatus();
}

void measure_writing(const BenchShape& shape, Report& report) {
  const GenerationSpeed speed =
      measure_generation(config_of(shape), *random_data(shape, /*seed=*/1));
  report.row("generation",
             {{"shape", shape.name},
              {"length", shape.length},
              {"tokens_per_second", speed.tokens_per_second},
              {"tokens_per_second_without_cache", speed.without_cache}},
             absl::StrFormat("%-7s %5d %15.0f %15.0f %9.2f\n", shape.name, shape.length,
                             speed.tokens_per_second, speed.without_cache,
                             speed.tokens_per_second / speed.without_cache));
}

}  // namespace

absl::StatusOr<std::string> run_suite(const SuiteOptions& options) {
  Report report(options);
  report.heading(
      "A training step, in ms (quartiles), and the floor: its matrix products alone\n"
      "for vit, tokens are images; speed-up: of all threads, beside one\n"
      "shape   type     step                       floor ratio GFLOP/s tokens/s speed-up");
  for (const BenchShape& shape : bench_shapes()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      if (absl::Status s = measure_shape(shape, precision, options, report); !s.ok()) return s;
    }
  }
  report.heading(
      "One sequence of T tokens, d_model 128, 4 layers: ms per step, and peak megabytes\n"
      "     T        step       floor       memory   one layer's scores");
  for (const int64_t length : {512, 1024, 2048, 4096}) {
    if (absl::Status s = measure_context(length, options, report); !s.ok()) return s;
  }
  report.heading(
      "The same with a window of 64 keys, and with full attention: ms per step\n"
      "     T      window        full");
  if (absl::Status s = measure_windows(options, report); !s.ok()) return s;
  report.heading(
      "Generating T tokens: tokens/s with the key/value cache, and without\n"
      "shape       T            with         without     ratio");
  for (const BenchShape& shape : bench_shapes()) {
    options.tell(absl::StrCat(shape.name, ": generating"));
    if (shape.length > 0) measure_writing(shape, report);
  }
  return report.json();
}

}  // namespace qkv
