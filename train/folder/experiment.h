#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "framework/io/safetensors.h"
#include "models/model.h"
#include "train/config/train_options.h"

namespace qkv {

DType precision_dtype(const TrainOptions& options);  // of the parameters

// A note on the precision on this machine; "": none.
std::string precision_note(const TrainOptions& options);

// The data of a config, in the form that its model takes; an error as well where the model cannot
// read images of that size. Standard error tells how far it is, where that takes seconds.
absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const Config& config,
                                                      const std::stop_token& stop = {});

// An error where the model cuts images into patches, and these cannot be cut so.
absl::Status check_patches(const ModelOptions& model, const DataShape& data);

// The model of a config, freshly initialized from the config's seed.
Model make_model(const Config& config, const DataShape& data);

// Its parameters without their numbers, and how many these are. Takes no memory.
std::vector<NamedParameter> parameters_without_numbers(const Config& config, const DataShape& data);
int64_t count_parameters(const Config& config, const DataShape& data);

// The weights of another run that a run begins with.
struct FirstWeights {
  std::vector<NamedArray> arrays;  // those whose names and shapes fit, in the model's number type
  std::vector<std::string> notes;  // the tensors taken, those left out, and the model's others
};

// Reads the run or checkpoint that train.from names; nothing where it names none. Parameters with a
// row for each token or class are taken from a run with the same vocabulary only. An error where
// no matrix fits.
absl::StatusOr<FirstWeights> find_first_weights(const Config& config, const Dataset& dataset);

}  // namespace qkv
