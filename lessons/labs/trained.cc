#include "lessons/labs/trained.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/run/checkpoint.h"
#include "train/run/experiment.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

void require(const absl::Status& status) {
  if (!status.ok()) fail(std::string(status.message()));
}

template <class T>
T required(absl::StatusOr<T> result) {
  require(result.status());
  return *std::move(result);
}

// The folder of this very config.
std::string folder_of(const LabContext& lab, const Config& config) {
  return absl::StrCat(lab.runs(), "/", config.name, "-",
                      absl::StrFormat("%016x", stable_hash(to_toml(config))));
}

Evaluation evaluation_of(const Model& model, const Dataset& data, const Config& config) {
  return required(evaluate(model, data, Split::kValidation, config.train.batch_size));
}

void train_into(const std::string& path, const LabContext& lab, const Config& config,
                const Dataset& data) {
  const RunFolder folder = required(RunFolder::create(path, config));
  RunFiles files;
  require(files.open(folder));
  Trainer trainer(config, data);
  const int64_t steps = config.train.steps;
  for (int64_t step = 1; step <= steps; ++step) {
    const StepResult result = required(trainer.step());
    StepReport report;
    report.logged = true;
    report.metrics.step = step;
    report.metrics.loss = result.loss;
    report.metrics.grad_norm = result.grad_norm;
    require(files.report(report));
    if (step % config.train.log_interval == 0) {
      lab.say(
          absl::StrFormat("%s: step %d of %d, loss %.4f", config.name, step, steps, result.loss));
    }
  }
  require(files.before_checkpoint());
  RunState state;
  state.step = steps;
  require(save_checkpoint(folder.last_checkpoint(), config, data, trainer.model(),
                          trainer.optimizer(), state));
}

absl::StatusOr<Model> trained_model(const std::string& run) {
  const std::string last = run + "/checkpoints/last.safetensors";
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(last);
  if (!checkpoint.ok()) return checkpoint.status();
  return restore_model(last, *checkpoint);
}

}  // namespace

Config lab_config(const std::string& toml, const std::vector<std::string>& settings) {
  constexpr int64_t kWarmup = 20;
  Config config = required(parse_config(toml, "lab", settings)).config;
  config.optimizer.warmup_steps = std::min(kWarmup, config.train.steps);
  return config;
}

Trained train_or_reuse(const LabContext& lab, const Config& config) {
  std::unique_ptr<Dataset> data = required(make_dataset(config));
  const std::string path = folder_of(lab, config);
  absl::StatusOr<Model> reused = trained_model(path);
  if (!reused.ok()) {
    std::filesystem::remove_all(path);  // stopped on its way, or of another version
    train_into(path, lab, config, *data);
    reused = trained_model(path);
  }
  Model model = required(std::move(reused));
  Trained trained = {.config = config,
                     .data = std::move(data),
                     .model = std::move(model),
                     .losses = {},
                     .grad_norms = {},
                     .validation = {}};
  for (const Metrics& metrics : required(read_metrics(path + "/metrics.jsonl"))) {
    trained.losses.push_back(metrics.loss.value_or(0));
    trained.grad_norms.push_back(metrics.grad_norm.value_or(0));
  }
  trained.validation = evaluation_of(trained.model, *trained.data, config);
  return trained;
}

}  // namespace qkv
