#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/ops/support/op_examples.h"

namespace qkv {

double unit_roundoff(DType dtype);  // u = 2^-p: f32 2^-24, bf16 2^-8; 0 of integers

struct PrecisionOptions {
  uint64_t seed = 1;                    // of the random cotangent, and of the random roundings
  std::vector<std::string> names = {};  // of all inputs; empty: "input 0", …
  size_t kept = 8;                      // elements kept of each result: those of the largest ratio
  int worst = 3;                        // elements listed for each result
};

// One number of the narrow run beside the exact one.
struct ElementPrecision {
  Verdict verdict = Verdict::kPass;  // whether rounding alone explains the error
  int64_t element = 0;               // in row-major order
  double narrow = 0.0, exact = 0.0;
  double error = 0.0, bound = 0.0;

  double ratio() const;  // error / bound; 0 where both are
};

struct ResultPrecision {
  std::string name = "";  // "the result", "the gradient of x"
  Shape shape = {};
  DType dtype = DType::f32;
  int64_t compared = 0;
  Verdict verdict = Verdict::kPass;  // of all elements
  // That are right of the largest number, in the element with the largest error. Nothing where all
  // numbers are 0 but for rounding.
  std::optional<double> digits = {};
  std::vector<ElementPrecision> elements = {};  // the largest ratio first
};

struct PrecisionReport {
  std::vector<ResultPrecision> results = {};
  int64_t kinks = 0;       // elements so near to a kink that rounding may choose the branch
  double roundoff = 0.0;   // u of the narrowest type in use: bf16 is, or is not
  double roundings = 0.0;  // n u: the most roundings that follow each other
  int worst = 3;           // elements listed in the text for each result

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  int64_t compared() const;
  double largest_ratio() const;
  std::string to_text() const;
};

// Compares f and its gradients as training computes them in f32 or bf16, with everything fused,
// with the same by the composed formulas in f64, on the same inputs. The second rounds nothing to
// bf16.
//
// How far rounding may take each number is measured: the exact run is made twelve times more, each
// op reading numbers that are moved at random by up to the unit roundoff of the type that the
// narrow run computes in, and what the narrow run stores in bf16 by up to that of bf16. The largest
// change of a number, times a factor, bounds its error; a larger error is a failure. It is
// undecided where the run comes near a kink, where rounding chooses the branch, and where n
// roundings follow each other and leave no digit (n u >= 1).
PrecisionReport precision_check(const TensorFunction& f, std::span<const Tensor> inputs,
                                const PrecisionOptions& options = {});

// Inputs of an example in that type. For bf16: the first k of the floating ones, for the largest k
// that the function takes, and the others f32; nothing where it takes none.
std::optional<std::vector<Tensor>> inputs_in(DType dtype, const OpExample& example, uint64_t seed);

}  // namespace qkv
