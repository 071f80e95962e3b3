#include "apps/bench/bench.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "apps/bench/bench_shapes.h"
#include "apps/report/facts.h"
#include "cli/kit.h"
#include "data/dataset.h"
#include "framework/core/each_of.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/memory/storage.h"
#include "framework/core/text/columns.h"
#include "train/config/config.h"
#include "train/config/suggest.h"
#include "train/config/train_options.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"

namespace qkv {
namespace {

struct Workload {
  Config config;
  std::string description;
  std::unique_ptr<Dataset> dataset;
};

absl::StatusOr<Workload> workload_of_config(const std::string& config,
                                            const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(LoadedConfig loaded, load_config(config, overrides));
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, make_dataset(loaded.config));
  return Workload{
      .config = loaded.config, .description = printable(config), .dataset = std::move(dataset)};
}

// A shape of apps/bench/bench_shapes.h. `overrides` may change neither its kind nor its data.
absl::StatusOr<Workload> workload_of_shape(const std::string& name,
                                           const std::vector<std::string>& overrides) {
  std::vector<std::string> names;
  for (const BenchShape& shape : bench_shapes()) {
    names.push_back(shape.name);
    if (shape.name != name) continue;
    for (const std::string& text : overrides) {
      if (!text.starts_with("data.") && !text.starts_with("model.kind")) continue;
      return invalid_argument("--set ", text,
                              ": --shape fixes the model.kind, and its data are random");
    }
    ASSIGN_OR_RETURN(LoadedConfig loaded, parse_config(to_toml(config_of(shape)),
                                                       absl::StrCat("--shape ", name), overrides));
    std::unique_ptr<Dataset> dataset = random_data(shape, loaded.config.seed);
    RETURN_IF_ERROR(check_patches(loaded.config.model, dataset->shape()));
    return Workload{
        .config = loaded.config, .description = shape.describe(), .dataset = std::move(dataset)};
  }
  return invalid_argument("--shape: there is no \"", name, "\"; there are ",
                          quoted_list(names, "and"));
}

// Whether there is memory for measure_steps(): a step, and a copy of all that its matrix products
// read and write, for the floor.
absl::Status check_fits(const Workload& workload) {
  const uint64_t available = available_memory();
  StepForecast forecast = foresee_step(workload.config, *workload.dataset, available);
  forecast.batch += forecast.matrices;
  forecast.evaluation = 0;
  return check_memory(forecast, available);
}

Json profile_to_json(const StepMeasurement& m) {
  Json list = Json::array();
  const auto steps = static_cast<double>(m.profiled_steps);
  for (const ProfileRow& row : m.profile) {
    list.push_back({{"part", row.part},
                    {"op", row.name},
                    {"ms", row.ms / steps},
                    {"calls", static_cast<double>(row.calls) / steps},
                    {"bytes", row.bytes / steps},
                    {"gflops", row.ms > 0 ? row.flops / row.ms * 1e-6 : 0.0}});
  }
  return list;
}

// The measurements of `qkv bench`: a JSON object on a line, or text for a terminal.
std::string steps_json(const Workload& workload, const StepMeasurement& m) {
  const auto floor_or_null = [&](auto number) { return m.floor ? Json(number(*m.floor)) : Json(); };
  const Json row = {
      {"name", workload.config.name},
      {"precision", name_of(workload.config.train.precision)},
      {"note", precision_note(workload.config.train)},
      {"threads", m.threads},
      {"parameters", m.parameters},
      {"steps", m.steps},
      {"ms_per_step", m.step_ms.median},
      {"ms_lower_quartile", m.step_ms.lower},
      {"ms_upper_quartile", m.step_ms.upper},
      {"floor_ms", floor_or_null([](const auto& floor) { return floor.ms.median; })},
      {"floor_ms_lower_quartile", floor_or_null([](const auto& floor) { return floor.ms.lower; })},
      {"floor_ms_upper_quartile", floor_or_null([](const auto& floor) { return floor.ms.upper; })},
      {"cut_ms", floor_or_null([](const auto& floor) { return floor.cut_ms; })},
      {"ratio", floor_or_null([](const auto& floor) { return floor.ratio; })},
      {"tokens_per_second", m.tokens_per_second},
      {"gflops", m.gflops},
      {"floor_gflops", floor_or_null([](const auto& floor) { return floor.gflops; })},
      {"peak_bytes", m.peak_bytes},
      {"profile", profile_to_json(m)}};
  return row.dump() + "\n";
}

std::string steps_text(const Workload& workload, const StepMeasurement& m) {
  const std::string note = precision_note(workload.config.train);
  return absl::StrFormat(
      "%s: %s; %s, %d threads, %d parameters\n%s"
      "step   %9.3f ms (quartiles %.3f and %.3f, %d steps)\n"
      "       %9.1f GFLOP/s, %.0f %s/s\n"
      "%s"
      "memory %9.1f MB at the peak\n\n%s",
      workload.config.name, workload.description, name_of(workload.config.train.precision),
      m.threads, m.parameters, note.empty() ? "" : note + "\n", m.step_ms.median, m.step_ms.lower,
      m.step_ms.upper, m.steps, m.gflops, m.tokens_per_second, workload.dataset->shape().unit(),
      floor_text(m.floor), static_cast<double>(m.peak_bytes) * 1e-6,
      profile_table(m.profile, m.profiled_steps));
}

std::string generation_json(const Workload& workload, const GenerationSpeed& speed) {
  const Json row = {{"name", workload.config.name},
                    {"precision", name_of(workload.config.train.precision)},
                    {"length", workload.dataset->shape().max_length},
                    {"tokens_per_second", speed.tokens_per_second},
                    {"tokens_per_second_without_cache", speed.without_cache}};
  return row.dump() + "\n";
}

std::string generation_text(const Workload& workload, const GenerationSpeed& speed) {
  return absl::StrFormat("%s: writes %d tokens: %.0f a second, %.0f without the key/value cache\n",
                         workload.config.name, workload.dataset->shape().max_length,
                         speed.tokens_per_second, speed.without_cache);
}

struct SuiteOptions {
  int64_t steps = 0;  // of each measurement; 0: fewer of the larger shapes
  std::function<void(const std::string&)> say;  // gets each table
  TellProgress tell;                            // gets the name of each measurement
};

// The tables of the suite: for a person one after the other, for a program at the end.
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
  ASSIGN_OR_RETURN(const StepMeasurement all, measure(shape, config, 0, steps, options));
  ASSIGN_OR_RETURN(const StepMeasurement one, measure(shape, config, 1, steps, options));
  tables.add({{"shape", "shape", shape.name},
              {"precision", "type", name_of(precision)},
              {"threads", "threads", all.threads},
              {"ms_per_step", "step", all.step_ms.median},
              {"ms_lower_quartile", "lower", all.step_ms.lower},
              {"ms_upper_quartile", "upper", all.step_ms.upper},
              {"floor_ms", "floor", all.floor->ms.median},
              {"ratio", "ratio", all.floor->ratio},
              {"gflops", "GFLOP/s", all.gflops},
              {"tokens_per_second", "tokens/s", all.tokens_per_second, Unit::kWhole},
              {"peak_bytes", "bytes", all.peak_bytes},
              {"one_thread_ms_per_step", "one thread", one.step_ms.median},
              {"one_thread_floor_ms", "its floor", one.floor->ms.median},
              {"speed_up", "speed-up", one.step_ms.median / all.step_ms.median}});
  return absl::OkStatus();
}

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
  ASSIGN_OR_RETURN(const StepMeasurement m, measure(shape, config_of(shape), 0, steps, options));
  const auto scores = static_cast<uint64_t>(shape.num_heads * length * length) * sizeof(float);
  tables.add({{"length", "T", length},
              {"ms_per_step", "step", m.step_ms.median},
              {"floor_ms", "floor", m.floor->ms.median},
              {"peak_bytes", "memory", m.peak_bytes, megabytes(m.peak_bytes)},
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
    RETURN_IF_ERROR(measure(length, kWindow, windowed));
    RETURN_IF_ERROR(measure(length, 0, full));
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

// `qkv bench --suite`: every shape in every precision, with one thread and with all; time and
// memory of a training step as T grows, also where attention sees a window of it alone; generation
// with and without the key/value cache. Returns all of it as one JSON object.
absl::StatusOr<std::string> run_suite(const SuiteOptions& options) {
  Tables tables(options);
  for (const BenchShape& shape : bench_shapes()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      RETURN_IF_ERROR(measure_shape(shape, precision, options, tables));
    }
  }
  tables.end("steps",
             "A training step, in ms (quartiles), and the floor: its matrix products alone\n"
             "for vit, tokens are images; speed-up: of all threads, beside one",
             {"shape", "precision", "ms_per_step", "ms_lower_quartile", "ms_upper_quartile",
              "floor_ms", "ratio", "gflops", "tokens_per_second", "speed_up"});
  for (const int64_t length : {512, 1024, 2048, 4096}) {
    RETURN_IF_ERROR(measure_context(length, options, tables));
  }
  tables.end("long_context",
             "One sequence of T tokens, d_model 128, 4 layers: ms per step, and peak megabytes",
             {"length", "ms_per_step", "floor_ms", "peak_bytes", "scores_bytes"});
  RETURN_IF_ERROR(measure_windows(options, tables));
  for (const BenchShape& shape : bench_shapes()) {
    options.tell(absl::StrCat(shape.name, ": generating"));
    if (shape.length > 0) measure_writing(shape, tables);
  }
  tables.end("generation", "Generating T tokens: tokens/s with the key/value cache, and without",
             {"shape", "length", "tokens_per_second", "tokens_per_second_without_cache", "ratio"});
  return tables.json();
}

constexpr int64_t kDefaultSteps = 60;

void add_bench_options(OptionList& options) {
  options.set();
  options.text("shape", "NAME",
               "Measures a built-in model instead of a CONFIG: toy, small, mini, seq2seq or vit");
  options.choices("shape", [] { return each_of(bench_shapes(), &BenchShape::name); });
  options.flag("suite",
               "Measures every shape in f32 and bf16, long contexts, windows and generation");
  options.text("precision", "TYPE", "Same as --set train.precision=TYPE");
  options.choices("precision", names_of<Precision>);
  options.integer("steps", "N", "Number of steps to measure; by default 60");
  options.json("the measurements");
  options.flag("generation", "Measures generation instead, with and without the key/value cache");
  options.rules().exclude({"suite"}, {"set", "precision", "generation", "shape", "CONFIG"},
                          "the suite measures everything");
  options.rules().exclude({"shape"}, {"CONFIG"}, "both say what is measured");
  options.rules().exclude({"steps"}, {"generation"}, "generation is not measured in steps");
}

absl::Status run_bench(const std::string& config, const GivenOptions& given) {
  const std::string shape = given.text("shape"), precision = given.text("precision");
  const std::optional<int64_t> steps = given.integer_if_given("steps");
  const bool suite = given.has("suite"), generation = given.has("generation");
  std::vector<std::string> overrides = given.set();
  RETURN_IF_ERROR(
      reject({{steps.value_or(1) < 1, "--steps must be 1 or more"},
              {config.empty() && shape.empty() && !suite,
               "bench takes one of CONFIG, --shape and --suite; see qkv bench --help"}}));
  RETURN_IF_ERROR(check_json(given, suite ? "{\"steps\":" : "{\"name\":"));
  ProgressLine progress(stderr);
  const auto tell = [&](const std::string& what) { progress.show(what); };
  if (suite) {
    const auto say = [&](const std::string& text) {
      progress.clear();
      if (!prints_json(given)) show(text);
      std::fflush(stdout);
    };
    const absl::StatusOr<std::string> json =
        run_suite({.steps = steps.value_or(0), .say = say, .tell = tell});
    return json.ok() ? write_json(given, *json) : json.status();
  }
  if (!precision.empty()) overrides.push_back(absl::StrCat("train.precision=", precision));
  ASSIGN_OR_RETURN(const Workload workload, shape.empty() ? workload_of_config(config, overrides)
                                                          : workload_of_shape(shape, overrides));
  if (generation) {
    if (workload.dataset->shape().is_image()) {
      return absl::InvalidArgumentError(
          "--generation: the model classifies images; it writes no text");
    }
    tell("generating, with and without the key/value cache");
    const GenerationSpeed speed = measure_generation(workload.config, *workload.dataset);
    progress.clear();
    return show_or_write(given, generation_text(workload, speed), generation_json(workload, speed));
  }
  RETURN_IF_ERROR(check_fits(workload));
  const absl::StatusOr<StepMeasurement> measured =
      measure_steps(workload.config, *workload.dataset, steps.value_or(kDefaultSteps), tell);
  progress.clear();
  if (!measured.ok()) return measured.status();
  return show_or_write(given, steps_text(workload, *measured), steps_json(workload, *measured));
}

}  // namespace

Verb bench_verb() {
  return {{"bench", "[CONFIG]", "measures how long a training step takes, op by op"},
          add_bench_options,
          run_bench};
}

}  // namespace qkv
