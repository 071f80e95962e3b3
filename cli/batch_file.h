#pragma once

#include <cstdint>
#include <string>

#include "cli/verb.h"
#include "data/dataset.h"
#include "data/split.h"
#include "models/model.h"

namespace qkv {

// --export and --batches, of the verbs that write batches to a safetensors file.
void add_export_options(OptionList& options, const std::string& help);
absl::Status check_export_options(const GivenOptions& given, bool may_be_picture = false);

// The first --batches of a part as inputs.N, inputs.N.1 …, targets.N in the file --export; of a
// model also its logits.N. Says what it wrote.
absl::Status export_batches(const Dataset& dataset, Split split, int64_t batch_size,
                            const GivenOptions& given, const Model* model = nullptr);

}  // namespace qkv
