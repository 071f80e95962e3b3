#include "apps/bench/bench_suite.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/bench/bench.h"
#include "apps/bench/bench_shapes.h"
#include "apps/report/facts.h"
#include "framework/core/memory/storage.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"

namespace qkv {
namespace {

// Its tables: for a person one after the other, for a program at the end.
class Tables {
 public:
  explicit Tables(const SuiteOptions& options) : options_(options) {}

  void add(Facts row) { rows_.push_back(std::move(row)); }

  // Ends the table of these rows, and shows some of their facts.
  void end(const char* key, const std::string& title, const Keys& shown) {
    object_[key] = json_of(rows_);
    options_.say(absl::StrCat(
        "\n", title, "\n",
        fitted_table(in_english(tabled(rows_, shown)), {.left = 1}, {"GFLOP/s"}, text_columns())));
    rows_.clear();
  }

  std::string json() const { return object_.dump() + "\n"; }

 private:
  const SuiteOptions& options_;
  std::vector<Facts> rows_;
  Json object_;
};

std::string megabytes(uint64_t bytes) { return format_number(static_cast<double>(bytes) * 1e-6); }

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
                           const SuiteOptions& options, Tables& tables) {
  Config config = config_of(shape);
  config.train.precision = precision;
  const int64_t steps = steps_of(shape, options);
  const absl::StatusOr<StepMeasurement> all = measure(shape, config, 0, steps, options);
  if (!all.ok()) return all.status();
  const absl::StatusOr<StepMeasurement> one = measure(shape, config, 1, steps, options);
  if (!one.ok()) return one.status();
  tables.add({{"shape", "shape", shape.name},
              {"precision", "type", name_of(precision)},
              {"threads", "threads", all->threads},
              {"ms_per_step", "step", all->step_ms.median},
              {"ms_lower_quartile", "lower", all->step_ms.lower},
              {"ms_upper_quartile", "upper", all->step_ms.upper},
              {"floor_ms", "floor", all->floor->ms.median},
              {"ratio", "ratio", all->floor->ratio},
              {"gflops", "GFLOP/s", all->gflops},
              {"tokens_per_second", "tokens/s", all->tokens_per_second, Unit::kWhole},
              {"peak_bytes", "bytes", all->peak_bytes},
              {"one_thread_ms_per_step", "one thread", one->step_ms.median},
              {"one_thread_floor_ms", "its floor", one->floor->ms.median},
              {"speed_up", "speed-up", one->step_ms.median / all->step_ms.median}});
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
absl::Status measure_context(int64_t length, const SuiteOptions& options, Tables& tables) {
  const BenchShape shape = long_context(length);
  const int64_t steps =
      options.steps > 0 ? options.steps : std::clamp<int64_t>(10'000 / length, 3, 10);
  const absl::StatusOr<StepMeasurement> m = measure(shape, config_of(shape), 0, steps, options);
  if (!m.ok()) return m.status();
  const auto scores = static_cast<uint64_t>(shape.num_heads * length * length) * sizeof(float);
  tables.add({{"length", "T", length},
              {"ms_per_step", "step", m->step_ms.median},
              {"floor_ms", "floor", m->floor->ms.median},
              {"peak_bytes", "memory", m->peak_bytes, megabytes(m->peak_bytes)},
              {"scores_bytes", "one layer's scores", scores, megabytes(scores)}});
  return absl::OkStatus();
}

// The same model, where a query sees all keys before it and where it sees those next to it.
absl::Status measure_windows(const SuiteOptions& options, Tables& tables) {
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
    tables.add({{"length", "T", length},
                {"window", "keys", kWindow},
                {"ms_per_step", "window", windowed.back()},
                {"ms_per_step_without", "full", full.back()}});
  }
  tables.end("windows", "The same with a window of 64 keys, and with full attention: ms per step",
             {"length", "ms_per_step", "ms_per_step_without"});
  tables.add({{"exponent", "window", growth_exponent(lengths, windowed)},
              {"exponent_without", "full", growth_exponent(lengths, full)}});
  tables.end("window_growth", "Time grows as T to the power of", {"exponent", "exponent_without"});
  return absl::OkStatus();
}

void measure_writing(const BenchShape& shape, Tables& tables) {
  const GenerationSpeed speed =
      measure_generation(config_of(shape), *random_data(shape, /*seed=*/1));
  tables.add({{"shape", "shape", shape.name},
              {"length", "T", shape.length},
              {"tokens_per_second", "with", speed.tokens_per_second, Unit::kWhole},
              {"tokens_per_second_without_cache", "without", speed.without_cache, Unit::kWhole},
              {"ratio", "ratio", speed.tokens_per_second / speed.without_cache}});
}

}  // namespace

absl::StatusOr<std::string> run_suite(const SuiteOptions& options) {
  Tables tables(options);
  for (const BenchShape& shape : bench_shapes()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      if (absl::Status s = measure_shape(shape, precision, options, tables); !s.ok()) return s;
    }
  }
  tables.end("steps",
             "A training step, in ms (quartiles), and the floor: its matrix products alone\n"
             "for vit, tokens are images; speed-up: of all threads, beside one",
             {"shape", "precision", "ms_per_step", "ms_lower_quartile", "ms_upper_quartile",
              "floor_ms", "ratio", "gflops", "tokens_per_second", "speed_up"});
  for (const int64_t length : {512, 1024, 2048, 4096}) {
    if (absl::Status s = measure_context(length, options, tables); !s.ok()) return s;
  }
  tables.end("long_context",
             "One sequence of T tokens, d_model 128, 4 layers: ms per step, and peak megabytes",
             {"length", "ms_per_step", "floor_ms", "peak_bytes", "scores_bytes"});
  if (absl::Status s = measure_windows(options, tables); !s.ok()) return s;
  for (const BenchShape& shape : bench_shapes()) {
    options.tell(absl::StrCat(shape.name, ": generating"));
    if (shape.length > 0) measure_writing(shape, tables);
  }
  tables.end("generation", "Generating T tokens: tokens/s with the key/value cache, and without",
             {"shape", "length", "tokens_per_second", "tokens_per_second_without_cache", "ratio"});
  return tables.json();
}

}  // namespace qkv
