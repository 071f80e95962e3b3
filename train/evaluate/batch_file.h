#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/split.h"
#include "models/model.h"

namespace qkv {

// Writes the first batches of a part to a safetensors file, as inputs.N, inputs.N.1 …, targets.N;
// with a model also its logits.N. Returns how many there were: at most `count`.
absl::StatusOr<int64_t> write_batches(const std::string& path, const Dataset& dataset, Split split,
                                      int64_t batch_size, int64_t count,
                                      const Model* model = nullptr);

}  // namespace qkv
