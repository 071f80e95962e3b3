#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/labs/numbers.h"
#include "apps/labs/samples.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/config/options.h"
#include "train/evaluate/evaluate.h"

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

// What all trainings of labs have in common, with the name of the lab, the seed, so many steps as
// `--steps` says, the settings of the lab (texts/NAME.toml), and those in which its trainings
// differ: "model.num_heads=2". The learning rate warms up in 20 steps, or in all where they are
// fewer; every step is logged, and the last one evaluated. Throws Error on a mistake in it.
Config lab_config(const LabContext& lab, uint64_t seed, const std::vector<std::string>& settings);

// Trains it, or takes what the same config came to before from the folder of runs
// (apps/labs/train_once.h).
Trained train_or_reuse(const LabContext& lab, const Config& config);

// One for each seed of the lab, and what the validation of each came to.
std::vector<Trained> train_over_seeds(const LabContext& lab,
                                      const std::vector<std::string>& settings = {});
inline Samples validations_of(const std::vector<Trained>& all, double Evaluation::*number) {
  return values_of(all, [number](const Trained& each) { return each.validation.*number; });
}
inline Samples losses_of(const std::vector<Trained>& all) {
  return validations_of(all, &Evaluation::loss);
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

}  // namespace qkv
