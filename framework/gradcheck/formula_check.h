#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"
#include "framework/gradcheck/slopes.h"

// Is the formula of the gradient right? The heart of gradcheck.
//
// All derivatives at once: with a direction u of all inputs and a cotangent v of all outputs, both
// random,
//   v · (J u) = (Jᵀ v) · u
// where J u comes from differences and Jᵀ v from backward, one pass each, whatever the size. A
// wrong derivative makes the two sides differ but for a set of u and v of measure zero (Freivalds,
// "Probabilistic machines can use less running time", 1977). v has such sizes that every output
// counts alike: v_k = ± 1 / |(J u)_k|. There are three u: in the first the elements move by their
// own size, in the second so that each counts alike: u_j = ± 1 / |(Jᵀ v)_j|. In the third only
// those move that hardly counted in the first, as do those whose gradient is zero. And v is taken
// once more with zeros for half of the outputs, because Jᵀ v must be linear in it.
//
// Where the two sides differ, elements are looked at: all of a small input, halves of a large one
// until the wrong ones are found.
namespace qkv {

struct FormulaCheck {
  FormulaReport report;
  Numbers cotangent;               // v
  std::vector<Numbers> gradients;  // Jᵀ v of each input; empty: the graph does not hold it
  // How far rounding moves each of them; empty: it was not measured.
  std::vector<Numbers> noise;
  Direction direction;                   // the first u
  Sizes sizes;                           // of (Jᵀ v) · u
  Numbers products;                      // J u by differences
  std::vector<NumericGradient> numeric;  // of the inputs that do not pass
};

// Fills in the verdict, the counts and the worst elements of each report: one for each floating
// input.
FormulaCheck check_formula(Probe& f, const Recorded& recorded, const RandomStream& stream,
                           const GradcheckOptions& options, std::span<InputReport> reports);

// Moves some elements of one input, each by itself, where the formula does not agree at a random
// direction. Fills in the report's verdict, counts and worst elements, at most `worst`: each
// element against the cotangent of `formula`, and where the Jacobian is small each of its entries.
NumericGradient check_elements(const Probe& f, const Recorded& recorded,
                               const FormulaCheck& formula, std::span<const int64_t> elements,
                               int worst, InputReport& report);

}  // namespace qkv
