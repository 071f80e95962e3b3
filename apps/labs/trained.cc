#include "apps/labs/trained.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/labs/train_once.h"
#include "framework/core/error.h"
#include "framework/nn/trace.h"
#include "train/config/config.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

// What a lab does not say otherwise.
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

template <class T>
T required(absl::StatusOr<T> result) {
  if (!result.ok()) fail(std::string(result.status().message()));
  return *std::move(result);
}

// The folder of this very config.
std::string folder_of(const LabContext& lab, const Config& config) {
  return absl::StrCat(lab.runs(), "/", config.name, "-",
                      absl::StrFormat("%016x", stable_hash(to_toml(config))));
}

// Tells a person now and then how a training goes: "reverse, training 7, seed 2 of 5: step 10 of
// …".
class Teller final : public RunListener {
 public:
  Teller(const LabContext& lab, const Config& config) : lab_(lab), config_(config) {}

  void report(const StepReport& step) override {
    constexpr int64_t kInterval = 10;
    if (training_ == 0) training_ = lab_.count_training();
    if (step.metrics.step % kInterval != 0) return;
    lab_.say(absl::StrFormat("%s, training %d, seed %d of %d: step %d of %d, loss %.4f",
                             config_.name, training_, config_.seed, lab_.seeds().size(),
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
  Config config = required(parse_config(kBase, "lab", all)).config;
  config.optimizer.warmup_steps = std::min(kWarmup, config.train.steps);
  config.train.log_interval = 1;
  config.train.eval_interval = config.train.steps;
  return config;
}

Trained train_or_reuse(const LabContext& lab, const Config& config) {
  Teller teller(lab, config);
  FinishedRun run = required(train_once(folder_of(lab, config), config, teller));
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

}  // namespace qkv
