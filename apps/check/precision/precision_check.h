#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/ops/examples.h"

namespace qkv {

struct PrecisionOptions {
  uint64_t seed = 1;                    // of the random cotangent, and of elements taken at random
  std::vector<std::string> names = {};  // of all inputs; empty: "input 0", …
  // A result with more elements is compared at `sampled` of them: a quarter with the largest
  // errors, a quarter with the largest values, half at random.
  int64_t all_elements = 64;
  int64_t sampled = 8;
  int worst = 3;  // elements listed for each result
};

// One number of the narrow run beside the exact one. An ulp is the distance to the next number of
// the narrowest type of the run (bf16, where that is in use), at the size of the exact number, or
// of the result's largest where that is 0.
struct ElementPrecision {
  Verdict verdict = Verdict::kPass;  // whether error <= bound
  int64_t element = 0;               // in row-major order
  double narrow = 0.0, exact = 0.0;
  double error = 0.0, bound = 0.0;
  double ulp = 0.0;
  std::string largest = "";  // the op whose rounding may do most of it

  double ratio() const;  // error / bound; 0 where both are
  // Whether the bound is below the number itself. Where it is not, as where large terms cancel to
  // a zero, a count of ulps says nothing.
  bool has_sure_digits() const;
};

struct ResultPrecision {
  std::string name = "";  // "the result", "the gradient of x"
  Shape shape = {};
  DType dtype = DType::f32;
  std::vector<ElementPrecision> elements = {};  // that were compared, the largest ratio first

  Verdict verdict() const;
};

struct PrecisionReport {
  std::vector<ResultPrecision> results = {};
  int64_t kinks = 0;       // see RoundedRun::kinks
  double roundoff = 0.0;   // u of the narrowest type in use: bf16 is, or is not
  double roundings = 0.0;  // n u of the longest chain
  int worst = 3;           // elements listed in the text for each result

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  int64_t compared() const;
  std::vector<double> ratios() const;  // error / bound of each element that was compared, sorted
  std::string to_text() const;
};

// Compares f and its gradients as training computes them in f32 or bf16, with everything fused,
// with the same in f64 on the same inputs. Each error must be within what rounding can do
// (rounding_bound.h). An error above it is a failure; where an element stands at a kink, or so many
// roundings follow each other that there is no bound (n u >= 1), it is undecided.
//
// It compares kernels with the composed formulas, of which the exact run has each constant and each
// branch on a number type as the narrow run has it.
//
// Throws Error where an op has no rule of rounding.
PrecisionReport precision_check(const TensorFunction& f, std::span<const Tensor> inputs,
                                const PrecisionOptions& options = {});

// Inputs of an example in that type. For bf16: the first k of the floating ones, for the largest k
// that the function takes, and the others f32; nothing where it takes none.
std::optional<std::vector<Tensor>> inputs_in(DType dtype, const OpExample& example, uint64_t seed);

// How each op of the list rounds, by its name, and each that its backward needs: bounds as
// formulas.
std::map<std::string, std::string> rounding_formulas();

}  // namespace qkv
