#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/ops/examples.h"

// What an example must hold beside its gradients. Each says what is wrong, or nothing.
namespace qkv {

// The example, and its gradients with a random cotangent, in f32 against f64 on the same numbers.
std::optional<std::string> wrong_in_f32(const OpExample& example, uint64_t seed);

// They have the same bits with one thread and with three, in f32 and f64.
std::optional<std::string> wrong_with_threads(const OpExample& example, uint64_t seed);

// The example with every size above 1 multiplied, until its largest input or its result has 32,768
// elements, which kernels share among threads. Sizes that were equal stay equal. Where the function
// itself holds a size, calling it may throw Error.
OpExample enlarged(const OpExample& example);

}  // namespace qkv
