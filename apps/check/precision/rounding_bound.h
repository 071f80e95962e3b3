#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/graph/tensor.h"

// How far rounding may take a result in f32 or bf16 from the exact one.
namespace qkv {

// f of the inputs, and then the gradient of each (Jᵀ cotangent; undefined where f does not depend
// on it, and for masks and indices), by the backward that training runs, or with a graph.
std::vector<Tensor> results_of(const TensorFunction& f, std::span<const Tensor> inputs,
                               const Tensor& cotangent, bool create_graph = false);

// A bound of what rounding does to one number.
struct RoundingBound {
  double bound = 0.0;        // of |narrow - exact|
  double roundings = 0.0;    // n u: the longest chain of roundings before it, of all number types
  std::string largest = "";  // the op whose roundings are the largest part of the bound
};

// Runs f and its backward by the composed formulas, op by op twice: in the number types that f
// uses (narrow), and in f64 on the same inputs (exact). A number that was rounded to bf16 in the
// first is not rounded in the second, so that the exact graph is that of f without rounding, and
// every place where the narrow run rounds has its node there.
//
// With the error e_i of each element i of each node z (Op::rounding), the error of a result y
// is
//   |narrow - exact| <= sum over z and i of |dy / dz_i| e_i / (1 - n u)
// where the derivatives come from backward of the exact graph: rounding errors travel as gradients
// do, the other way. The sum is the error to first order (Linnainmaa, "Taylor expansion of the
// accumulated rounding error", 1976; Bauer, "Computational graphs and rounding error", 1974). The
// divisor stands for the terms in u², where n roundings follow each other on the longest path to y:
// n factors (1 + delta) differ from 1 by n u / (1 - n u) at most (Higham, 2002, lemma 3.1). That is
// strict for the sums and roundings along a path. Where paths meet in a product, or a function is
// bent, it is an allowance of the right size and no theorem.
//
// A fused kernel may round less than its composed formula, and in another order. What it rounds
// more, as attention in bf16 does, its composed formula has to have, too.
class RoundedRun {
 public:
  // Inputs f32 or bf16. Throws Error where f has an op without such a rule.
  RoundedRun(const TensorFunction& f, std::span<const Tensor> inputs, const Tensor& cotangent);
  ~RoundedRun();
  RoundedRun(const RoundedRun&) = delete;
  RoundedRun& operator=(const RoundedRun&) = delete;

  // In f64, in the order of results_of().
  const std::vector<Tensor>& exact() const;
  // The bound of one element of a result. Takes one backward of the exact graph.
  RoundingBound bound(size_t result, int64_t element) const;
  // Elements of relu and maximum so near to the kink that rounding may choose the branch, and of
  // max where the two runs chose another: there is no derivative to compare there.
  int64_t kinks() const;
  // u of the narrowest type that the narrow run has.
  double narrowest_roundoff() const;
  // By the name of each op that ran: how far rounding takes its result (Rounding::formula).
  const std::map<std::string, std::string>& formulas() const;

 private:
  class Twins;
  std::unique_ptr<Twins> twins_;
  std::vector<Tensor> exact_;
};

}  // namespace qkv
