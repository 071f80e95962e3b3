#include "apps/bench/bench.h"

#include "apps/bench/bench_report.h"
#include "apps/bench/bench_shapes.h"
#include "apps/bench/bench_suite.h"
#include "apps/bench/workload.h"
#include "cli/kit.h"
#include "framework/core/each_of.h"

namespace qkv {
namespace {

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
  options.json("what was measured");
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
