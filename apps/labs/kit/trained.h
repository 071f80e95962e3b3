#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/labs/kit/lab_kit.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/config/train_options.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/metrics.h"
#include "train/watch/run_listener.h"

namespace qkv {

// A model that a lab trained.
struct Trained {
  Config config;
  std::shared_ptr<const Dataset> data;
  Model model;
  std::vector<double> losses;      // of each step
  std::vector<double> grad_norms;  // before clipping
  Evaluation validation;           // at the end
};

// The config of every training of a lab, with the name of the lab, the seed, the steps of
// `--steps`, the settings of the lab (texts/NAME.toml), and those in which its trainings differ:
// "model.num_heads=2". The learning rate warms up in 20 steps, or in all where they are fewer;
// every step is logged, and the last one evaluated. Throws Error on a mistake in it.
Config lab_config(const LabContext& lab, uint64_t seed, const std::vector<std::string>& settings);

// Trains it, or takes the results of the same config from the folder of runs.
Trained train_or_reuse(const LabContext& lab, const Config& config);

// One for each seed of the lab, with its validation.
std::vector<Trained> train_over_seeds(const LabContext& lab,
                                      const std::vector<std::string>& settings = {});
inline Samples validations_of(const std::vector<Trained>& all, double Evaluation::*number) {
  return values_of(all, [number](const Trained& each) { return each.validation.*number; });
}
inline Samples losses_of(const std::vector<Trained>& all) {
  return validations_of(all, &Evaluation::loss);
}
inline Losses training_losses_of(const std::vector<Trained>& all) {
  return each_of(all, [](const Trained& each) { return each.losses; });
}
inline Samples right_tokens_of(const std::vector<Trained>& all) {  // shares
  return validations_of(all, &Evaluation::token_accuracy);
}
inline Samples right_sequences_of(const std::vector<Trained>& all) {  // shares
  return validations_of(all, &Evaluation::sequence_accuracy);
}

// The model of a config before its training.
Model untrained(const Trained& trained);

// The weights of each layer of attention, [B, H, Tq, Tk].
std::vector<Tensor> attention_weights_in(const Trace& trace);

// The loss of a model on a batch, and all that it notes on the way.
Traced trace_loss(const Model& model, const Batch& batch);

// The results of a finished run.
struct FinishedRun {
  Config config;
  std::shared_ptr<const Dataset> dataset;
  Model model;
  std::vector<Metrics> metrics;  // of each step that is logged; the last one is evaluated
};

// Trains without a terminal into `folder`, as `qkv train` does, or reads the results of the same
// config in it. A run in the folder that is unfinished, cannot be read, has another config, or
// would come out otherwise today (which the first two steps tell, where they are logged) is
// removed. Processes may share the folder: one trains, and the others wait for it. A run that
// fails leaves no folder. The listener follows a training.
absl::StatusOr<FinishedRun> train_once(const std::string& folder, const Config& config,
                                       RunListener& listener);

}  // namespace qkv
