#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/shape.h"

namespace qkv {

// kUndecided: the numbers settle neither way, as at a kink. It is no pass.
enum class Verdict { kPass, kFail, kUndecided };
std::string_view verdict_name(Verdict verdict);  // "PASS", "FAIL", "UNDECIDED"
Verdict worse(Verdict a, Verdict b);             // a failure is worse than no decision

// Two numbers that must agree: |analytic - numeric| <= tolerance. What is not finite never agrees.
struct Agreement {
  Verdict verdict = Verdict::kPass;
  double analytic = 0.0;
  double numeric = 0.0;
  double error = 0.0;            // |analytic - numeric|
  double estimated_error = 0.0;  // of `numeric`
  double tolerance = 0.0;        // estimated_error is part of it
  std::string note = "";         // why it is no pass, or what is special about it
};

// One derivative: of an output by an element of the input.
struct ElementReport : Agreement {
  int64_t element = 0;  // in row-major order
  int64_t output = -1;  // -1: of the dot product of all outputs with the random cotangent
};

// R(h) = |f(x + hu) - f(x) - h <g, u>| falls as h² where g is the gradient, as h where it is not.
struct TaylorReport {
  Verdict verdict = Verdict::kPass;
  std::vector<double> steps = {};       // h, from large to small
  std::vector<double> remainders = {};  // R(h)
  double slope = 0.0;     // d log R / d log h, at the smallest steps that stand above rounding
  bool measured = false;  // false: no step does, or f is not finite there
  bool is_finite = true;
  std::string note = "";

  std::string to_text() const;  // "slope 2.00", "all rounding" (as where f is linear along u)
};

// The elements of a large input, moved many at once: see block_check.h.
struct BlockReport {
  int64_t count = 0;         // of blocks; 0: every element was moved by itself
  int64_t rounds = 0;        // each with other blocks of all elements
  int64_t wrong = 0;         // blocks, or undecided
  bool by_size = false;      // the scale of an element x is |x|; else that or 1, if 1 is larger
  double seen = 0.0;         // an error of an element's derivative, times its scale, above this …
  double missed = 0.0;       // … is missed with this probability at most, whatever the others are
  ElementReport worst = {};  // of the wrong blocks; `element` was found in it, or -1
};

// The check of one input.
struct InputReport {
  Verdict verdict = Verdict::kPass;  // the worst of all below
  int order = 1;
  std::string name = "";       // "input 0", or from the options; "cotangent" at order 2
  size_t input = 0;            // its place among the inputs
  Shape shape = {};            // of the input
  Shape output_shape = {};     // of the function's value
  bool full_jacobian = false;  // every output by every element; else their dot product with a
                               // random cotangent by each element
  BlockReport blocks = {};     // of all elements; only a few are compared by themselves then
  bool ignored = false;        // the function's graph does not hold this input: zero gradient

  // Method 1: differences, element by element.
  int64_t elements = 0;                   // of the input, that were moved by themselves
  int64_t derivatives = 0;                // that were compared
  int64_t failed = 0;                     // of them
  int64_t undecided = 0;                  // of them
  int64_t structural_zeros = 0;           // both zero, as far as differences can tell
  int64_t kinks_stepped_around = 0;       // smaller steps stayed on one side of a kink
  int64_t smaller_steps = 0;              // settled there alone, without a kink: strongly bent
  std::vector<ElementReport> worst = {};  // the worst first; never empty where `elements` is not 0

  // Along one random direction u of this input, for one random cotangent v:
  Agreement direction = {};    // <Jᵀv, u> by backward and by differences
  TaylorReport taylor = {};    // method 2
  Agreement dot_product = {};  // method 3: analytic <u, Jᵀv>, numeric <Ju, v> by double backward
  // The gradient as backward gives it (with what is fused), and the same with create_graph; the
  // element where they differ most.
  ElementReport composed = {};
  // Method 4, along u: analytic from backward, numeric from forward mode, of the output (-1: of
  // <v, Ju>) where they differ most. No element.
  ElementReport forward = {};
  std::string no_forward_rule = "";  // the op that has none, so that there is no method 4

  std::string diagnosis = "";  // what went wrong, where the pattern is known
  std::string note = "";

  bool passed() const { return verdict == Verdict::kPass; }
  bool fails_by_differences() const {
    return failed > 0 || blocks.wrong > 0 || direction.verdict == Verdict::kFail ||
           taylor.verdict == Verdict::kFail;
  }
  bool only_forward_mode_fails() const {
    return forward.verdict == Verdict::kFail && !fails_by_differences() &&
           dot_product.verdict != Verdict::kFail && composed.verdict != Verdict::kFail;
  }
  std::string to_text() const;  // a few lines, the last one ended
};

struct GradcheckReport {
  std::vector<InputReport> inputs = {};  // those of order 1 before those of order 2
  // <u, Hv> (analytic) and <v, Hu> (numeric) for the Hessian H of the dot product of f with a
  // random cotangent, at order 2; one that needs no second derivative passes.
  Agreement hessian_symmetry = {};
  std::vector<std::string> notes = {};
  int64_t elements = 0;     // of the inputs, that were moved
  int64_t derivatives = 0;  // that were compared
  int64_t evaluations = 0;  // of f (at order 2 also of its gradient) for the differences
  double seconds = 0.0;     // not in the text, which is the same each time

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  std::string to_text() const;  // every input, and a verdict
};

}  // namespace qkv
