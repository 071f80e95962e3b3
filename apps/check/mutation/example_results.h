#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/ops/support/op_examples.h"

namespace qkv {

struct NamedResult {
  std::string name;  // "the result", "gradient 0"
  Tensor value;
};

// The result and the gradients of the inputs that have one, with a random cotangent.
std::vector<NamedResult> results_of(const OpExample& example, const std::vector<Tensor>& inputs,
                                    uint64_t seed);

// The first of these that is wrong in f32, beside f64 on the same numbers; or nothing.
std::optional<std::string> wrong_in_f32(const OpExample& example, uint64_t seed);

}  // namespace qkv
