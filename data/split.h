#pragma once

#include <string_view>

namespace qkv {

enum class Split { kTraining, kValidation };

// The side on which an example falls: decided by a hash of its text alone, so that the two sides
// share no example whatever the seed, the machine or the order. A share of `train_fraction` of all
// texts falls on the training side.
Split side_of(std::string_view text, double train_fraction);

}  // namespace qkv
