#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/tolerance.h"
#include "framework/graph/tensor.h"

namespace qkv {

struct GradcheckOptions {
  // 1: the gradients of f. 2: also the gradients of those gradients, as a function of the inputs
  // and of the cotangent, and the symmetry of the Hessian.
  int order = 1;
  uint64_t seed = 1;  // of the random cotangents and directions
  // The absolute part is relative to the largest derivative of the same output, times the size of
  // its element, divided by the size of the compared element.
  Tolerance tolerance = {.relative = 1e-8, .absolute = 1e-15};
  std::vector<std::string> names = {};  // of all inputs; empty: "input 0", …
  // The full Jacobian is compared where it has at most this many entries (outputs x inputs), and at
  // most 4096 outputs; else every element of the inputs against a random cotangent.
  int64_t max_jacobian = int64_t{1} << 20;
  // Where the inputs have more elements in all, the elements of a large input are moved in blocks
  // (see block_check.h): the report states the probability of missing a wrong one. Wrong elements
  // are then compared separately, and so are `sampled_elements` of each input: half of them have
  // the largest gradients, half are chosen at random.
  int64_t max_elements = int64_t{1} << 14;
  int64_t sampled_elements = 4;
  int worst = 3;  // elements listed for each input
  // Moves every floating element at random, by this much at most, before anything is checked: for
  // functions that have a kink just where their inputs are.
  double move_by = 0.0;
  // f may be called by several threads at once. The numbers are the same either way.
  bool concurrent = false;
};

// Compares backward with numeric derivatives of f at `inputs`, by four methods that must agree:
//
//   1. central differences, extrapolated to a step of 0 (Richardson), with an estimate of their own
//      error: every output by every input element, or fewer (see the options). Their steps are of
//      the size of the element, or of 1; where these do not settle it they go down to where f is
//      smooth, or x has no more digits, and up to where rounding is small beside f's change;
//   2. the Taylor remainder along a random direction, which falls as h²;
//   3. the dot-product test <Ju, v> = <u, Jᵀv>, with Ju from the backward of backward;
//   4. forward mode: Ju by a rule for each op that is not made from its backward, against J as
//      backward gives it. Where f has an op without a rule, a note says so, and it is no failure.
//
// Cotangents are random and never all ones, which are blind to every function whose outputs sum to
// a constant. What is checked against differences is the backward that training runs, fused where
// it can be; the composed formulas must agree with it.
//
// What is not finite fails. A derivative that is zero passes within the error of the differences,
// and is counted. A kink near the point is stepped around with smaller steps, and counted; a kink
// right at it is undecided, and so is what no step settles: passed() is false.
//
// f must give the same bits each time. Every floating input is checked, whether or not it is a
// leaf; masks and indices are passed on. Throws Error unless these inputs and the output are f64:
// f32 holds too few digits to tell a wrong derivative from a rounded one.
GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options = {});

}  // namespace qkv
