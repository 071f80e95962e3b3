#pragma once

#include <cstdint>
#include <span>

#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/backward_rows.h"
#include "framework/gradcheck/forward_mode.h"
#include "framework/gradcheck/gradcheck.h"

namespace qkv {

// One cotangent v and the gradients Jᵀv by each way to get them.
struct Directional {
  const BackwardRows& backward;           // as training runs it, and v
  const ForwardProducts& forward;         // with create_graph
  std::span<const Tensor> composed_only;  // under ComposedOnly
  Tensor other_cotangent;                 // of the dot-product test
  std::span<const Tensor> other_gradients;
  const ForwardMode& forward_mode;
  RandomStream neighbours;
};

// Fills in the report's direction, taylor, dot_product, composed and forward for one input, along
// the random direction u, of length 1. Gives the number of evaluations.
int64_t check_direction(const Directional& at, size_t input, const Tensor& u,
                        const GradcheckOptions& options, InputReport& report);

}  // namespace qkv
