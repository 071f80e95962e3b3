#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/transformer.h"
#include "train/options.h"

namespace qkv {

DType precision_dtype(const TrainOptions& options);

// The model of a config, freshly initialized from the config's seed.
Transformer make_model(const Config& config, int64_t vocabulary_size, int64_t max_length);

}  // namespace qkv
