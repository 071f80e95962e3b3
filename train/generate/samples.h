#pragma once

#include <stop_token>
#include <string>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "models/model.h"

namespace qkv {

// The first `count` validation examples as a person reads them, a line each: what was asked, what
// was expected, what the model answered (always the most likely token), and whether that is right.
// Images: the same for their classes, without the question. Text: a piece and the model's
// continuation. A stop is answered after the token that is being made, by a Status: Cancelled. An
// error where the model computes numbers that are not finite.
absl::StatusOr<std::string> describe_samples(const Model& model, const Dataset& dataset,
                                             int64_t count, const std::stop_token& stop = {});

// Cuts samples.txt, whose parts begin with a line "step N", after the part of `last_step`.
absl::Status cut_samples(const std::string& path, int64_t last_step);

}  // namespace qkv
