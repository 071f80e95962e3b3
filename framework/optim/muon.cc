//   m = beta1 m + (1 - beta1) g;  u = beta1 m + (1 - beta1) g
//   w = w - learning_rate (weight_decay w + 0.2 sqrt(max(R, C)) orthogonal(u))       w [R, C]
//
// `orthogonal` brings all singular values of u near 1, by five steps of Newton-Schulz from
// X = u / |u|: they stand between 0.7 and 1.2 then, which is near enough.
//   A = X Xᵀ;  X = (3.4445 I - 4.7750 A + 2.0315 A²) X
// The factor gives the update the size of one of Adam, so that both share a learning rate. Whatever
// is not a matrix takes a step of AdamW. Jordan et al., "Muon", 2024; the factor: Liu et al., "Muon
// is scalable for LLM training", 2025.

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/kernels/kernels.h"
#include "framework/kernels/product/matmul.h"
#include "framework/optim/optimizer.h"

namespace qkv {
namespace {

constexpr int kNewtonSchulzSteps = 5;

// The matrices of a weight, [N, R, C]: a convolution [R, C, K] is a map from C K numbers; the maps
// of several parts are side by side.
Shape shape_of_matrices(const NamedParameter& parameter) {
  const Shape& s = parameter.tensor.shape();
  const bool is_convolution = parameter.name.ends_with("convolution.weight");
  const int64_t columns = is_convolution ? s.size() / s[0] : s[s.rank() - 1];
  const int64_t rows = is_convolution ? s[0] : s[s.rank() - 2];
  return {s.size() / (rows * columns), rows, columns};
}

// x [N, R, C], all singular values near 1. The smaller of X Xᵀ and Xᵀ X is A.
Array orthogonal(Array x) {
  const int64_t count = x.shape()[0], rows = x.shape()[1], columns = x.shape()[2];
  const bool wide = rows <= columns;
  const int64_t n = std::min(rows, columns);
  Array a({count, n, n}, x.dtype()), polynomial({count, n, n}, x.dtype());
  Array next(x.shape(), x.dtype());
  kernels::normalize_matrices(x);
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    kernels::matmul(x, x, /*transpose_a=*/!wide, /*transpose_b=*/wide, nullptr, a);
    Array inner = a.copy();
    kernels::add_to_diagonal(2.0315, -4.7750, inner);
    kernels::matmul(inner, a, false, false, nullptr, polynomial);
    kernels::add_to_diagonal(1.0, 3.4445, polynomial);
    kernels::matmul(wide ? polynomial : x, wide ? x : polynomial, false, false, nullptr, next);
    std::swap(x, next);
  }
  return x;
}

class Muon final : public Optimizer {
 public:
  // The second moment of a matrix stays 0.
  Muon(const OptimizerOptions& options, std::vector<NamedParameter> parameters)
      : Optimizer(options, std::move(parameters), {"first_moment", "second_moment"}) {}

 private:
  void update(const NamedParameter& parameter, const Array& gradient, std::span<Array> state,
              const kernels::StepFactors& factors) const override {
    if (group_of(parameter) != ParameterGroup::kMatrix) {
      adam_update(options_, steps(), parameter.tensor, gradient, state, factors);
      return;
    }
    const Shape shape = shape_of_matrices(parameter);
    Array u(shape, gradient.dtype()), weight = parameter.tensor.array();
    kernels::momentum(options_.betas[0], factors.gradient_scale, gradient, state[0], u);
    const auto longest = static_cast<double>(std::max(shape[1], shape[2]));
    kernels::muon({.learning_rate = factors.learning_rate,
                   .weight_decay = options_.weight_decay,
                   .factor = 0.2 * std::sqrt(longest)},
                  orthogonal(u), weight);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_muon(const OptimizerOptions& options,
                                     std::vector<NamedParameter> parameters) {
  return std::make_unique<Muon>(options, std::move(parameters));
}

}  // namespace qkv
