#include "train/bench/bench.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "train/bench/bench_shapes.h"
#include "train/bench/bench_suite.h"
#include "train/config/config.h"
#include "train/config/suggest.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

// One of `config`, `shape` and `suite`: a config file, a shape of train/bench/bench_shapes.h, or
// the whole table of train/bench/bench_suite.h, to which only `steps` and `json` apply.
struct BenchOptions {
  std::string config, shape;
  bool suite = false;
  std::vector<std::string> overrides;
  std::string precision;         // "": the config's
  std::optional<int64_t> steps;  // none: 60, or a number that suits each row of the suite
  bool generation = false;       // measures tokens per second in generation, not a training step
  bool json = false;
};

void add_options(OptionList& options) {
  options.set();
  options.text("shape", "NAME",
               "Measures a built-in model instead of a CONFIG: toy, small, mini, seq2seq or vit");
  options.flag("suite",
               "Measures every shape in f32 and bf16, long contexts, windows and generation");
  options.text("precision", "TYPE", "Same as --set train.precision=TYPE");
  options.integer("steps", "N", "Number of steps to measure; by default 60");
  options.flag("json", "Prints one JSON object");
  options.flag("generation", "Measures generation instead, with and without the key/value cache");
}

// What to train, and on what.
struct Workload {
  Config config;
  std::string description;
  std::unique_ptr<Dataset> dataset;
};

absl::StatusOr<Workload> workload_of_shape(const std::string& name,
                                           const std::vector<std::string>& overrides) {
  std::vector<std::string> names;
  for (const BenchShape& shape : bench_shapes()) {
    names.push_back(shape.name);
    if (shape.name != name) continue;
    for (const std::string& text : overrides) {
      if (!text.starts_with("data.") && !text.starts_with("model.kind")) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", text, ": --shape fixes the model.kind, and its data are random"));
    }
    absl::StatusOr<LoadedConfig> loaded =
        parse_config(to_toml(config_of(shape)), absl::StrCat("--shape ", name), overrides);
    if (!loaded.ok()) return loaded.status();
    std::unique_ptr<Dataset> dataset = random_data(shape, loaded->config.seed);
    if (absl::Status s = check_patches(loaded->config.model, dataset->shape()); !s.ok()) return s;
    return Workload{
        .config = loaded->config, .description = shape.describe(), .dataset = std::move(dataset)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--shape: there is no \"", name, "\"; there are ", quoted_list(names)));
}

absl::StatusOr<Workload> workload_of(const BenchOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.precision.empty()) {
    overrides.push_back(absl::StrCat("train.precision=", options.precision));
  }
  if (!options.shape.empty()) return workload_of_shape(options.shape, overrides);
  absl::StatusOr<LoadedConfig> loaded = load_config(options.config, overrides);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(loaded->config);
  if (!dataset.ok()) return dataset.status();
  return Workload{.config = loaded->config,
                  .description = printable(options.config),
                  .dataset = *std::move(dataset)};
}

nlohmann::ordered_json profile_to_json(const StepMeasurement& m) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
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

nlohmann::ordered_json to_json(const Workload& workload, const StepMeasurement& m) {
  const auto floor_or_null = [&](auto number) {
    return m.floor ? nlohmann::ordered_json(number(*m.floor)) : nlohmann::ordered_json();
  };
  return {
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
      {"ratio", floor_or_null([](const auto& floor) { return floor.ratio; })},
      {"tokens_per_second", m.tokens_per_second},
      {"gflops", m.gflops},
      {"floor_gflops", floor_or_null([](const auto& floor) { return floor.gflops; })},
      {"peak_bytes", m.peak_bytes},
      {"profile", profile_to_json(m)}};
}

void print_generation(const Workload& workload, bool json) {
  const GenerationSpeed speed = measure_generation(workload.config, *workload.dataset);
  const int64_t length = workload.dataset->shape().max_length;
  if (json) {
    const nlohmann::ordered_json row = {{"name", workload.config.name},
                                        {"precision", name_of(workload.config.train.precision)},
                                        {"length", length},
                                        {"tokens_per_second", speed.tokens_per_second},
                                        {"tokens_per_second_without_cache", speed.without_cache}};
    return print(row.dump() + "\n");
  }
  print(absl::StrFormat("%s: writes %d tokens: %.0f a second, %.0f without the key/value cache\n",
                        workload.config.name, length, speed.tokens_per_second,
                        speed.without_cache));
}

std::string to_text(const Workload& workload, const StepMeasurement& m) {
  const std::string note = precision_note(workload.config.train);
  return absl::StrFormat(
      "%s: %s; %s, %d threads, %d parameters\n%s"
      "step   %9.3f ms (quartiles %.3f and %.3f, %d steps)  %7.1f GFLOP/s, %.0f %s/s\n"
      "%s"
      "memory %9.1f MB at the peak\n\n%s",
      workload.config.name, workload.description, name_of(workload.config.train.precision),
      m.threads, m.parameters, note.empty() ? "" : note + "\n", m.step_ms.median, m.step_ms.lower,
      m.step_ms.upper, m.steps, m.gflops, m.tokens_per_second, workload.dataset->shape().unit(),
      floor_text(m.floor), static_cast<double>(m.peak_bytes) * 1e-6,
      profile_table(m.profile, m.profiled_steps));
}

absl::Status run(const std::string& config, const GivenOptions& given) {
  const BenchOptions options = {.config = config,
                                .shape = given.text("shape"),
                                .suite = given.has("suite"),
                                .overrides = given.set(),
                                .precision = given.text("precision"),
                                .steps = given.integer_if_given("steps"),
                                .generation = given.has("generation"),
                                .json = given.has("json")};
  constexpr int64_t kDefaultSteps = 60;
  if (options.steps.value_or(1) < 1) {
    return absl::InvalidArgumentError("--steps must be 1 or more");
  }
  if (int{!options.config.empty()} + int{!options.shape.empty()} + int{options.suite} != 1) {
    return absl::InvalidArgumentError(
        "bench takes one of CONFIG, --shape and --suite; see qkv bench --help");
  }
  if (options.suite) {
    if (!options.overrides.empty() || !options.precision.empty() || options.generation) {
      return absl::InvalidArgumentError(
          "--suite measures everything; it takes no --set, no --precision and no --generation");
    }
    return run_suite({.steps = options.steps.value_or(0), .json = options.json});
  }
  absl::StatusOr<Workload> workload = workload_of(options);
  if (!workload.ok()) return workload.status();
  if (options.generation) {
    if (workload->dataset->shape().is_image()) {
      return absl::InvalidArgumentError(
          "--generation: the model classifies images; it writes no text");
    }
    print_generation(*workload, options.json);
    return absl::OkStatus();
  }
  const absl::StatusOr<StepMeasurement> measured =
      measure_steps(workload->config, *workload->dataset, options.steps.value_or(kDefaultSteps));
  if (!measured.ok()) return measured.status();
  const std::string text =
      options.json ? to_json(*workload, *measured).dump() + "\n" : to_text(*workload, *measured);
  print(text);
  return absl::OkStatus();
}

}  // namespace

Verb bench_verb() {
  return {
      {"bench", "[CONFIG]", "measures how long a training step takes, op by op"}, add_options, run};
}

}  // namespace qkv
