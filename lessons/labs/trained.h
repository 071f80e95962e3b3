#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "lessons/labs/lab.h"
#include "models/model.h"
#include "train/config/options.h"
#include "train/run/evaluate.h"

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

// A config as TOML, with settings: "model.num_heads=2"; the learning rate warms up in 20 steps, or
// in all where they are fewer; every step is logged, and the last one evaluated. Throws Error on a
// mistake in it.
Config lab_config(const std::string& toml, const std::vector<std::string>& settings);

// Trains it, or takes what the same config came to before from the folder of runs
// (train/run/train_once.h).
Trained train_or_reuse(const LabContext& lab, const Config& config);

}  // namespace qkv
