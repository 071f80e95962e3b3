#include "apps/bench/bench.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/bench/bench_shapes.h"
#include "apps/bench/bench_suite.h"
#include "cli/kit.h"
#include "data/dataset.h"
#include "framework/core/each_of.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/utf8.h"
#include "train/config/config.h"
#include "train/config/suggest.h"
#include "train/config/train_options.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"

namespace qkv {
namespace {

// The model and data of `qkv bench`.
struct Workload {
  Config config;
  std::string description;
  std::unique_ptr<Dataset> dataset;
};

absl::StatusOr<Workload> workload_of_config(const std::string& config,
                                            const std::vector<std::string>& overrides) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, overrides);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(loaded->config);
  if (!dataset.ok()) return dataset.status();
  return Workload{
      .config = loaded->config, .description = printable(config), .dataset = *std::move(dataset)};
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
      absl::StrCat("--shape: there is no \"", name, "\"; there are ", quoted_list(names, "and")));
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

using Json = nlohmann::ordered_json;

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
  absl::Status options =
      reject({{steps.value_or(1) < 1, "--steps must be 1 or more"},
              {config.empty() && shape.empty() && !suite,
               "bench takes one of CONFIG, --shape and --suite; see qkv bench --help"}});
  if (!options.ok()) return options;
  options = check_json(given, suite ? "{\"steps\":" : "{\"name\":");
  if (!options.ok()) return options;
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
  const absl::StatusOr<Workload> workload =
      shape.empty() ? workload_of_config(config, overrides) : workload_of_shape(shape, overrides);
  if (!workload.ok()) return workload.status();
  if (generation) {
    if (workload->dataset->shape().is_image()) {
      return absl::InvalidArgumentError(
          "--generation: the model classifies images; it writes no text");
    }
    tell("generating, with and without the key/value cache");
    const GenerationSpeed speed = measure_generation(workload->config, *workload->dataset);
    progress.clear();
    return show_or_write(given, generation_text(*workload, speed),
                         generation_json(*workload, speed));
  }
  if (absl::Status s = check_fits(*workload); !s.ok()) return s;
  const absl::StatusOr<StepMeasurement> measured =
      measure_steps(workload->config, *workload->dataset, steps.value_or(kDefaultSteps), tell);
  progress.clear();
  if (!measured.ok()) return measured.status();
  return show_or_write(given, steps_text(*workload, *measured), steps_json(*workload, *measured));
}

}  // namespace

Verb bench_verb() {
  return {{"bench", "[CONFIG]", "measures how long a training step takes, op by op"},
          add_bench_options,
          run_bench};
}

}  // namespace qkv
