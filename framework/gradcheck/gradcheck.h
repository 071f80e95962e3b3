#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/text/terminal.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/graph/tensor.h"

namespace qkv {

struct GradcheckOptions {
  // 1: the gradients of f. 2: also the gradients of those gradients, as a function of the inputs
  // and of the cotangent, and the symmetry of the Hessian.
  int order = 1;
  uint64_t seed = 1;                    // of the random cotangents and directions
  std::vector<std::string> names = {};  // of all inputs; empty: "input 0", …
  int worst = 3;                        // elements listed for each input that does not pass
  // Stops where it is clear that a derivative is wrong: perhaps before it is known which, without a
  // diagnosis, and without a word on the others.
  bool only_verdict = false;
  TellProgress tell = tell_nobody;  // gets the name of each check
  // Says what is wrong with a gradient that fails, where it knows the pattern, in the report.
  std::function<std::string(const WrongGradient&)> diagnose = nullptr;
  // Says which op is wrong, where f does not pass and is made of several.
  std::function<std::string(const TensorFunction& f, std::span<const Tensor> inputs,
                            const GradcheckOptions& options)>
      name_wrong_op = nullptr;
  // Moves every floating element at random, by this much at most, before anything is checked: for
  // functions that have a kink just where their inputs are.
  double move_by = 0.0;
};

// Is backward right for f at `inputs`? f runs in f128, forward and backward (core/wide.h), where
// differences have next to no error. Four ways to the same numbers must agree:
//
//   1. differences, for all derivatives at once (formula_check.h). Where they do not agree, for
//      single elements;
//   2. the dot-product test <Ju, v> = <u, Jᵀv>, with Ju from the backward of backward;
//   3. the composed formulas, against the fused ones that training runs;
//   4. forward mode: Ju by a rule for each op that is not made from its backward. Where f has an op
//      without a rule, a note says so, which is not a failure.
//
// Then the gradient in f64 is held against that in f128, for what its kernels round
// (check_in_f64 in exact_checks.h).
//
// An f that reads its numbers as doubles (item(), to_vector(), an op of its own on data<double>())
// cannot run in f128. It is checked in f64 by the same ways, and the report says so. Rounding may
// then hide a derivative, which is undecided.
//
// A number that is not finite fails. At a kink a gradient between the slopes of both sides is
// undecided, and any other fails.
//
// Where the backward of an op throws, or gives gradients of a wrong number or shape, every input
// fails, with what it did as the note.
//
// An f of f32 inputs is checked as it is, by steps of f32 and by a measurement of its rounding: an
// element of the gradient passes where an error of 1/128 of it would show. What rounding hides is
// undecided.
//
// f must give the same bits each time. Every floating input is checked, whether or not it is a
// leaf; masks and indices are passed on. Throws Error for bf16 inputs: they hold too few digits to
// tell a wrong derivative from a rounded one.
GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options = {});

}  // namespace qkv
