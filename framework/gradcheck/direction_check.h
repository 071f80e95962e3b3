#pragma once

#include <cstdint>
#include <span>

#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/element_check.h"
#include "framework/gradcheck/forward_mode.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"

namespace qkv {

// One cotangent v and the gradients Jᵀv by each way to get them.
struct Directional {
  const Probe& probe;
  const Recorded& recorded;
  Tensor cotangent;                       // v
  std::span<const Tensor> gradients;      // as training runs it
  const ForwardProducts& forward;         // with create_graph, for the same v
  std::span<const Tensor> composed_only;  // under ComposedOnly, for the same v
  Tensor other_cotangent;                 // of the dot-product test
  std::span<const Tensor> other_gradients;
  GraphRounding rounding;  // of v · y
  const ForwardMode& forward_mode;
  std::span<const InputGradient> rows;  // of each input: J and vᵀJ, or vᵀJ alone
  RandomStream neighbours;
};

// Fills in the report's direction, taylor, dot_product, composed and forward for one input, along
// the random direction u, of length 1. Gives the number of evaluations.
int64_t check_direction(const Directional& at, size_t input, const Tensor& u,
                        const GradcheckOptions& options, InputReport& report);

}  // namespace qkv
