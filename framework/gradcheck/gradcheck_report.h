#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/float128.h"
#include "framework/core/shape.h"
#include "framework/core/text/names.h"

namespace qkv {

// kUndecided: the numbers settle neither way, as at a kink. That does not pass.
enum class Verdict { kPass, kFail, kUndecided };
template <>
inline constexpr Named<Verdict> kNames<Verdict>[] = {
    {"PASS", Verdict::kPass}, {"FAIL", Verdict::kFail}, {"UNDECIDED", Verdict::kUndecided}};
Verdict worse(Verdict a, Verdict b);  // a failure is worse than no decision

// Two numbers that must agree: |analytic - numeric| <= tolerance. Numbers that are not finite never
// agree.
struct Agreement {
  Verdict verdict = Verdict::kPass;
  Float128 analytic = 0, numeric = 0;
  double error = 0.0;            // |analytic - numeric|
  double estimated_error = 0.0;  // of `numeric`
  double tolerance = 0.0;        // a few times estimated_error is part of it
  bool is_hidden = false;        // by the rounding of the function: no difference tells it
  std::string note = "";         // why it does not pass, or what is special about it
};

// One derivative: of an output by an element of the input.
struct ElementReport : Agreement {
  int64_t element = 0;  // in row-major order
  int64_t output = -1;  // -1: of the dot product of all outputs with the random cotangent
};

// The check of one input.
struct InputReport {
  Verdict verdict = Verdict::kPass;  // the worst of all below
  int order = 1;
  std::string name = "";     // "input 0", or from the options; "cotangent" at order 2
  size_t input = 0;          // its place among the inputs
  DType dtype = DType::f64;  // of the input
  Shape shape = {};
  Shape output_shape = {};  // of the function's value
  bool ignored = false;     // the function's graph does not hold this input: zero gradient
  int64_t derivatives = 0;  // elements x outputs

  // Where the formula does not agree at a random direction, elements are looked at by themselves.
  int64_t elements = 0;                   // that were
  int64_t failed = 0, undecided = 0;      // of them
  std::vector<ElementReport> worst = {};  // the worst first

  // Other ways to the same number, along a random direction u and for a random cotangent v:
  Agreement dot_product = {};  // <u, Jᵀv> by backward, <Ju, v> by double backward
  ElementReport composed = {};  // Jᵀv as training has it, and by the composed formulas: the element
                                // where they differ most
  Agreement forward = {};            // <u, Jᵀv> by backward, <Ju, v> by forward mode
  std::string no_forward_rule = "";  // the op without one: f has no forward mode

  // Jᵀv in f64 beside f128: the element that has lost the most. Its tolerance is the effect of
  // rounding (check_in_f64 in exact_checks.h). Not at order 2.
  ElementReport in_f64 = {};
  double digits = 0.0;  // that f64 keeps there, of the largest element; 0: it was not compared

  std::string diagnosis = "";  // the mistake, where the pattern is known
  std::string note = "";

  bool passed() const { return verdict == Verdict::kPass; }
  std::string to_text() const;  // a few lines, the last one ended
};

// The derivatives of one input by differences, for the diagnosis of a wrong gradient.
struct NumericGradient {
  std::vector<int64_t> elements = {};  // that were looked at
  // The derivatives of the dot product with the cotangent, by these; `error` is that of `numeric`.
  std::vector<double> analytic = {}, numeric = {}, error = {};
  // For each output, where the Jacobian is small: whether some entry is right and not zero, and
  // whether some is zero that should not be.
  std::vector<char> right = {}, missing = {};
  // For each output, where the Jacobian is small, whether it moves with each of `elements`.
  std::vector<std::vector<char>> moves = {};
  bool only_missing = true;         // no entry is wrong in another way
  bool cotangent_is_right = false;  // `analytic` is right in all elements; single outputs are not
};

// A gradient that failed, with the numbers of the input x, of y = f(x) and of the cotangent dy.
struct WrongGradient {
  const InputReport& report;
  const NumericGradient& gradient;
  std::vector<double> x, y, dy;
  // By name, of the other inputs, and those that the ops save.
  std::vector<std::pair<std::string, std::vector<double>>> others = {};
  std::vector<std::vector<double>> contributions;  // of each use of the input
  bool is_linear = true;  // the gradient for dy is the sum of those of the outputs, times dy
};

// All derivatives of one order at once: v · (J u) against (Jᵀ v) · u (formula_check.h).
struct FormulaReport {
  Verdict verdict = Verdict::kPass;
  int order = 1;
  int64_t inputs = 0, outputs = 0;  // elements of each
  double disagreement = 0.0;        // |difference| / the sum of the terms' sizes
  double resolved_to = 0.0;         // the same of the possible error of differences

  std::string to_text() const;  // "agrees to 4e-23 over 1344 x 256 derivatives (resolved to 1e-20)"
};

struct GradcheckReport {
  std::vector<InputReport> inputs = {};  // those of order 1 before those of order 2
  std::vector<FormulaReport> formulas = {};
  // <u, Hv> (analytic) and <v, Hu> (numeric) for the Hessian H of the dot product of f with a
  // random cotangent, at order 2; one that needs no second derivative passes.
  Agreement hessian_symmetry = {};
  // Or "f64", where f reads its numbers as doubles, or "f32", where an input is f32.
  std::string computed_in = "f128";
  // The mistake of an op's backward that left no gradient: it threw, or gave gradients of another
  // number or shape than that of the inputs. Then no input has derivatives, and all fail.
  std::string backward_error = "";
  // Where f is made of several ops and does not pass: the first of them that does not pass when it
  // is checked alone, and its own report (GradcheckOptions::name_wrong_op).
  std::string wrong_op = "";
  std::vector<std::string> notes = {};
  int64_t derivatives = 0;  // of all inputs
  int64_t evaluations = 0;  // of f (at order 2 also of its gradient) for the differences
  double seconds = 0.0;     // not in the text, which is the same each time

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  std::string to_text() const;  // every input, and a verdict
};

std::string digits_of(Float128 x);  // to 20 digits

}  // namespace qkv
