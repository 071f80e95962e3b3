#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/random.h"
#include "framework/gradcheck/element_check.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"

// Every element of an input that has many, by few differences.
//
// The elements are divided at random into blocks, and those of a block are moved at once, each by
// its scale, up or down at random. One wrong element shows in its block, whatever the signs. Two
// show unless they are in one block, where their errors cancel for half of the signs at most: with
// B blocks they are missed with a probability of 1/2B at most, and so is any greater number (B >=
// 4). The whole is done R times, divided anew each time, which leaves (2B)^-R.
// (Errors that cancel for one choice of a sign do not for the other: Freivalds, "Probabilistic
// machines can use less running time", 1977.)
namespace qkv {

struct BlockPlan {
  int64_t blocks = 0;   // 0: to move each element by itself costs no more
  int64_t rounds = 0;   // blocks x rounds differences, of 4 evaluations and more
  double missed = 0.0;  // the probability
};

// Blocks of 512 elements, but no fewer than 4 and no more than 64; as many rounds as make `missed`
// at most 1e-6. That is at most 192 differences.
BlockPlan plan_blocks(int64_t elements);

struct BlockResult {
  std::vector<int64_t> suspects;  // elements that may be wrong, found by halving blocks that are
  int64_t evaluations = 0;
};

// Fills in the report's blocks and verdict, where `plan` has some. `gradient` is of one row, the
// dot product with the cotangent; `rounding` is what roundings may do to it.
BlockResult check_blocks(const Probe& probe, size_t input, const Rows& rows,
                         std::span<const double> rounding, const InputGradient& gradient,
                         const BlockPlan& plan, const RandomStream& stream,
                         const GradcheckOptions& options, InputReport& report);

}  // namespace qkv
