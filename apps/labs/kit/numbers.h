#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/report/figure.h"
#include "framework/core/random.h"
#include "framework/graph/tensor.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/module.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"

// Functions that many labs share, on tensors in f64.
namespace qkv {

Tensor constant_f64(const Shape& shape, const std::vector<double>& numbers);
Tensor random_normal(RandomStream random, const Shape& shape);  // mean 0, variance 1
Tensor random_normal(const RandomStream& random, std::string_view purpose, const Shape& shape);
Tensor as_parameter(const Tensor& x);  // the same numbers, with a gradient

Tensor tokens_of(const std::vector<int64_t>& tokens);  // i64 [N]
Tensor counted(int64_t n);                             // i64 [n]: 0, 1, …
Tensor random_tokens(RandomStream random, const Shape& shape, int64_t vocabulary);
Tensor random_order(RandomStream& random, int64_t n);  // i64 [n]: 0 … n - 1, shuffled
Tensor identity(int64_t n);                            // [n, n]

Tensor transposed(const Tensor& matrix);
Tensor row_of(const Tensor& x, int64_t i);  // [1, …]
Tensor one_head(const Tensor& x);  // [T, D] or [1, T, D] -> [1, T, 1, D]: one head of one sequence
Tensor products_of_rows(const Tensor& a, const Tensor& b);  // A Bᵀ
Tensor lengths_of_rows(const Tensor& x);                    // |x|, of the last axis

double size_of(const Tensor& x);     // the root of the sum of squares
double largest_of(const Tensor& x);  // of the magnitudes; a NaN, where there is one
double variance_of(const Tensor& x);
// |row| / |row|, ascending.
std::vector<double> shares_of_rows(const Tensor& part, const Tensor& whole);
// The one that is larger than a share `u` of all: 0.5 is the median.
double quantile_of(const std::vector<double>& ascending, double u = 0.5);
// The place of the largest number of each row, along the last axis: the answers of logits.
std::vector<int64_t> places_of_largest(const Tensor& x);
double count_not_zero(const Tensor& x);
// The share of the pairs of columns in a row that `a` puts into the same order as `b`.
double share_in_order(const Tensor& a, const Tensor& b);
double largest_difference(const Tensor& a, const Tensor& b);  // of the magnitudes

// The result of a module, and all that it notes on the way.
struct Traced {
  Tensor result;
  Trace trace;
};
template <class Module, class... Inputs>
Traced trace_module(const Module& module, const Inputs&... inputs) {
  Traced traced;
  ForwardContext context;
  const Tracing tracing(traced.trace);
  traced.result = module(inputs..., context);
  return traced;
}
template <class Module, class... Inputs>
Tensor run_module(const Module& module, const Inputs&... inputs) {
  ForwardContext context;
  return module(inputs..., context);
}

// A layer whose maps [C, C] have the standard deviation 1 / √C, and no bias.
MultiHeadAttention attention_layer(const RandomStream& random, int64_t width, int64_t heads);
MultiHeadAttention attention_layer(Initializer& init, int64_t width, int64_t heads);

// Trains a few parameters with Adam: the loss of each step. The learning rate stays as it is, or
// falls to 0.
enum class Rate { kConstant, kFalling };
std::vector<double> train_with_adam(const std::vector<NamedParameter>& parameters, int64_t steps,
                                    const std::function<Tensor(uint64_t step)>& loss_of_step,
                                    double learning_rate = 0.02, Rate rate = Rate::kConstant);

// The mean loss over the last tenth of its steps.
double loss_at_end(const std::vector<double>& losses);

// The milliseconds that each of `calls` calls takes, the shortest first.
std::vector<double> milliseconds_of(int calls, const std::function<void()>& call);

HeatMap heat_map_of(const Text& title, const Tensor& matrix, const Text& row_axis = {},
                    const Text& column_axis = {});  // [rows, columns]
// The share of input j in output i.   [..., i, j] with one matrix
HeatMap map_of_inputs(const Text& title, const Tensor& matrix);

// The two directions in which rows [N, C] differ most, if their mean is 0.   -> [C, 2]
Tensor principal_axes(const Tensor& centred);

}  // namespace qkv
