#pragma once

#include <cstdint>
#include <span>

#include "framework/gradcheck/probe.h"

// Random directions in which all elements of all inputs move. Those of other streams are
// independent: errors of single derivatives that cancel along one do not along another.
namespace qkv {

// ± 1 to ± 2, so that no two terms cancel by chance.
Scalar random_factor(RandomStream& stream);

// Each element moves by about its own size.
Direction moved_by_size(const Probe& f, const RandomStream& stream);

// The smallest |gradient_j u_j| above `zero`; 0: there is none.
Scalar least_effect(const Direction& u, std::span<const Numbers> gradients, Scalar zero);

// Each gradient_j u_j that is not zero, which is what is above `zero`, is as large as the smallest
// of moved_by_size.
Direction moved_by_effect(const Probe& f, std::span<const Numbers> gradients, Scalar zero,
                          const RandomStream& stream);

// Only those move of which gradient_j u_j is below 2^-20 of the largest. Empty: there are none.
Direction moved_if_small(const Probe& f, std::span<const Numbers> gradients,
                         const RandomStream& stream);

// u where only the elements first … last - 1 of one input move.
Direction part_of(const Direction& u, size_t input, int64_t first, int64_t last);

}  // namespace qkv
