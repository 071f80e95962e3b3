#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/decoder.h"
#include "train/config/options.h"

namespace qkv {

DType precision_dtype(const TrainOptions& options);  // of the parameters

// What should be said about the precision on this machine; "": nothing.
std::string precision_note(const TrainOptions& options);

// The model of a config, freshly initialized from the config's seed.
Decoder make_model(const Config& config, int64_t vocabulary_size, int64_t max_length);

}  // namespace qkv
