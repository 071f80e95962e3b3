#include "apps/labs/kit/trained.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/sure.h"
#include "framework/io/files.h"
#include "framework/nn/trace.h"
#include "train/config/config.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"
#include "train/loop/training_run.h"

namespace qkv {
namespace {

// The defaults of a lab's config.
constexpr const char* kBase = R"(
[data]
validation_examples = 200
[model]
num_layers = 1
d_model = 32
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

// The folder of this very config.
std::string folder_of(const LabContext& lab, const Config& config) {
  return absl::StrCat(lab.runs(), "/", config.name, "-",
                      absl::StrFormat("%016x", stable_hash(to_toml(config))));
}

// Tells a person now and then how a training goes:
// "reverse, training 7, 8 seeds, seed 102: step 10 of …".
class Teller final : public RunListener {
 public:
  Teller(const LabContext& lab, const Config& config) : lab_(lab), config_(config) {}

  void report(const StepReport& step) override {
    constexpr int64_t kInterval = 10;
    if (training_ == 0) training_ = lab_.count_training();
    if (step.metrics.step % kInterval != 0) return;
    lab_.say(absl::StrFormat("%s, training %d, %d seeds, seed %d: step %d of %d, loss %.4f",
                             config_.name, training_, lab_.seeds().size(), config_.seed,
                             step.metrics.step, config_.train.steps, *step.metrics.loss));
  }

 private:
  const LabContext& lab_;
  const Config& config_;
  int64_t training_ = 0;
};

}  // namespace

Config lab_config(const LabContext& lab, uint64_t seed, const std::vector<std::string>& settings) {
  constexpr int64_t kWarmup = 20;
  std::vector<std::string> all = {absl::StrCat("name=", lab.lab().name),
                                  absl::StrCat("seed=", seed),
                                  absl::StrCat("train.steps=", lab.integer("steps"))};
  for (const auto* const more : {&lab.lab().settings, &settings}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  Config config = sure(parse_config(kBase, "lab", all)).config;
  config.optimizer.warmup_steps = std::min(kWarmup, config.train.steps);
  config.train.log_interval = 1;
  config.train.eval_interval = config.train.steps;
  return config;
}

Trained train_or_reuse(const LabContext& lab, const Config& config) {
  Teller teller(lab, config);
  FinishedRun run = sure(train_once(folder_of(lab, config), config, teller));
  Trained trained = {.config = config,
                     .data = run.dataset,
                     .model = std::move(run.model),
                     .losses = {},
                     .grad_norms = {},
                     .validation = {}};
  for (const Metrics& step : run.metrics) {
    trained.losses.push_back(step.loss.value());
    trained.grad_norms.push_back(step.grad_norm.value());
  }
  const Metrics& last = run.metrics.back();
  trained.validation = {.loss = last.val_loss.value(),
                        .token_accuracy = last.val_token_accuracy.value_or(0),
                        .sequence_accuracy = last.val_sequence_accuracy.value_or(0)};
  return trained;
}

std::vector<Trained> train_over_seeds(const LabContext& lab,
                                      const std::vector<std::string>& settings) {
  return over_seeds(
      lab, [&](uint64_t seed) { return train_or_reuse(lab, lab_config(lab, seed, settings)); });
}

Model untrained(const Trained& trained) {
  return make_model(trained.config, trained.data->shape());
}

std::vector<Tensor> attention_weights_in(const Trace& trace) {
  std::vector<Tensor> weights;
  for (const std::string& path : trace.paths()) {
    if (absl::EndsWith(path, "attention.weights")) weights.push_back(trace[path]);
  }
  return weights;
}

Traced trace_loss(const Model& model, const Batch& batch) {
  Traced traced;
  ForwardContext context;
  const Tracing tracing(traced.trace);
  traced.result = batch_loss(model, batch, {}, context).loss;
  return traced;
}

namespace {

absl::Status not_of_it(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, " does not belong to this run"));
}

// Whether there is a line for each step that is logged, up to the last one, and nothing else.
bool are_complete(const std::vector<Metrics>& lines, const TrainOptions& options, int64_t last) {
  auto line = lines.begin();
  for (int64_t step = 1; step <= last; ++step) {
    if (!is_logged(options, step)) continue;
    if (line == lines.end() || line->step != step || !line->loss || !line->grad_norm) return false;
    ++line;
  }
  return line == lines.end() && !lines.empty() && lines.back().val_loss;
}

// Whether training begins today as it did then: with another program, or on a processor that rounds
// otherwise, it would come to another model. The second step shows what the first one changed.
bool begins_alike(const FinishedRun& run) {
  constexpr int64_t kCompared = 2;
  Trainer trainer(run.config, *run.dataset);
  for (const Metrics& line : run.metrics) {
    if (line.step > kCompared) break;
    absl::StatusOr<StepResult> result;
    while (trainer.steps_made() < line.step) {
      result = trainer.step();
      if (!result.ok()) return false;
    }
    if (result->loss != line.loss || result->grad_norm != line.grad_norm) return false;
  }
  return true;
}

absl::StatusOr<FinishedRun> read_run(const RunFolder& folder, const Config& config,
                                     std::shared_ptr<const Dataset> dataset) {
  const absl::StatusOr<std::string> toml = read_regular_file(folder.config());
  if (!toml.ok()) return toml.status();
  if (*toml != to_toml(config)) return not_of_it(folder.config());
  const std::string last = folder.last_checkpoint();
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(last);
  if (!checkpoint.ok()) return checkpoint.status();
  if (to_toml(checkpoint->config) != *toml || !other_data(*checkpoint, *dataset).empty() ||
      !has_ended(config.train, checkpoint->state) || checkpoint->state.unwritten) {
    return not_of_it(last);
  }
  absl::StatusOr<Model> model = restore_model(last, *checkpoint);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<Metrics>> metrics = read_metrics(folder.metrics());
  if (!metrics.ok()) return metrics.status();
  FinishedRun run = {.config = config,
                     .dataset = std::move(dataset),
                     .model = *std::move(model),
                     .metrics = *std::move(metrics)};
  if (!are_complete(run.metrics, config.train, checkpoint->state.step) || !begins_alike(run)) {
    return not_of_it(folder.metrics());
  }
  return run;
}

absl::Status train_anew(TrainingRun& run, RunListener& listener) {
  if (absl::Status s = run.folder().begin_anew(run.config()); !s.ok()) return s;
  if (absl::Status s = run.begin({}); !s.ok()) return s;
  return run.run({&listener}).status();
}

}  // namespace

absl::StatusOr<FinishedRun> train_once(const std::string& folder, const Config& config,
                                       RunListener& listener) {
  absl::StatusOr<std::unique_ptr<Dataset>> made = make_dataset(config);
  if (!made.ok()) return made.status();
  const std::shared_ptr<const Dataset> dataset = *std::move(made);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored)) std::filesystem::remove(folder, ignored);
  absl::StatusOr<RunFolder> held = RunFolder::wait_for(folder);
  if (!held.ok()) return held.status();
  absl::StatusOr<FinishedRun> reused = read_run(*held, config, dataset);
  if (reused.ok()) return reused;

  TrainingRun run(config, *dataset, *std::move(held));  // holds the folder until the end
  const absl::Status trained = train_anew(run, listener);
  absl::StatusOr<FinishedRun> finished =
      trained.ok() ? read_run(run.folder(), config, dataset) : trained;
  if (!finished.ok()) std::filesystem::remove_all(folder, ignored);
  return finished;
}

}  // namespace qkv
