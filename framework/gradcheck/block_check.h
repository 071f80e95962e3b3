#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/random.h"
#include "framework/gradcheck/backward_rows.h"
#include "framework/gradcheck/gradcheck.h"

// Every element of an input that has many, by few differences.
//
// The elements are divided at random into blocks, and those of a block are moved at once, each by
// its scale, up or down at random. One wrong element shows in its block, whatever the signs. Two
// show unless they are in one block, where their errors cancel for half of the signs at most: with
// B blocks they are missed with a probability of 1 / 2B at most, and so is any greater number. The
// whole is done R times, divided anew each time, which leaves (2B)^-R. (That random numbers can
// prove an equality so cheaply: Freivalds, "Probabilistic machines can use less running time",
// 1977.)
//
// How small an error a block shows is up to the rounding of the outputs that it moves. Elements
// whose derivatives are too small for that have blocks of their own, as often as that helps. Where
// f bends so near to some elements that all would have to take tiny steps, as a logarithm at 1e-6,
// each takes steps of its own size instead.
namespace qkv {

struct BlockPlan {
  int64_t blocks = 0;   // 0: to move each element by itself costs no more
  int64_t rounds = 0;   // blocks x rounds differences, of 4 to 12 evaluations
  double missed = 0.0;  // the probability
};

// Blocks of 2,048 elements, but no more than 64 blocks; as many rounds as make `missed` at most
// 1e-6: 20 differences for up to 4,096 elements, 50 for 20,000, and never more than 192.
BlockPlan plan_blocks(int64_t elements);

struct BlockResult {
  // Elements that must be moved by themselves: those of blocks that are not right, found by
  // halving them, and those that are too few for a block.
  std::vector<int64_t> by_themselves;
  int64_t evaluations = 0;
};

// Fills in the report's blocks and verdict, for an input of more elements than plan_blocks() leaves
// alone. The only row is the dot product with the cotangent.
BlockResult check_blocks(const BackwardRows& backward, size_t input, const RandomStream& stream,
                         const GradcheckOptions& options, InputReport& report);

}  // namespace qkv
