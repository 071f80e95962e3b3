#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "framework/io/safetensors.h"
#include "models/model.h"
#include "train/config/options.h"

namespace qkv {

// The weights of another run that a run begins with.
struct FirstWeights {
  std::vector<NamedArray> arrays;  // those whose names and shapes fit, in the model's number type
  std::vector<std::string> notes;  // what was taken, what was not, and what the model has beside
};

// Reads the run or checkpoint that train.from names; nothing where it names none. Parameters with a
// row for each token or class are taken from a run with the same vocabulary only. An error where
// no matrix fits.
absl::StatusOr<FirstWeights> find_first_weights(const Config& config, const Dataset& dataset);

void put_into(const Model& model, const FirstWeights& weights);

}  // namespace qkv
