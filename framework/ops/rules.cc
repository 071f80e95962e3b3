#include "framework/ops/rules.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace qkv {
namespace {

// The op of numbers made of its inputs' numbers.
std::vector<double> op_of(Op& op, TensorSpan x, double (*f)(double)) {
  std::vector<Tensor> inputs;
  for (const Tensor& each : x) {
    std::vector<double> values = each.to_vector();
    std::ranges::transform(values, values.begin(), f);
    inputs.emplace_back(Array::of(each.shape(), DType::f64, values));
  }
  return op.forward(Inputs(inputs)).to_vector();
}

// Sums of n terms; `more` counts what else is rounded in a term.
Rounding rounding_of_terms(std::string formula, Op& op, const ExactCall& call, double more) {
  const std::vector<double> n = op_of(op, call.x, [](double) { return 1.0; });
  const std::vector<double> sum_of_sizes = op_of(op, call.x, [](double x) { return std::abs(x); });
  const double largest_n = n.empty() ? 0.0 : *std::ranges::max_element(n);
  const auto error = [&](size_t i, double) {
    return std::max(0.0, n[i] - 1 + more) * sum_of_sizes[i];
  };
  Rounding rounding =
      each_rounding(std::move(formula), call, std::max(0.0, largest_n - 1 + more), error);
  rounding.sum_roundings = rounding.roundings;
  return rounding;
}

}  // namespace

Tensor Superposition::tangent(TensorSpan x, const Tensor& /*y*/, TensorSpan x_dot) {
  std::vector<Tensor> inputs(x_dot.begin(), x_dot.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) inputs[i] = zeros(x[i].shape(), x[i].dtype());
  }
  return Tensor(forward(Inputs(inputs)));
}

Tensor product_tangent(Op& op, TensorSpan x, TensorSpan x_dot) {
  Tensor sum;
  for (size_t i = 0; i < 2; ++i) {
    if (!x_dot[i].defined()) continue;
    std::vector<Tensor> inputs(x.begin(), x.end());
    inputs[i] = x_dot[i];
    const Tensor term(op.forward(Inputs(inputs)));
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

Tensor quotient_tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) {
  const Tensor &b = x[1], &a_dot = x_dot[0], &b_dot = x_dot[1];
  if (!b_dot.defined()) return a_dot / b;
  return (a_dot.defined() ? a_dot - y * b_dot : -(y * b_dot)) / b;
}

Rounding exact() { return {.formula = "0"}; }

Rounding exact_in_another_shape(const ExactCall& call) {
  return {.formula = "0", .sum_roundings = call.sum_roundings[0]};
}

Rounding rounded(const ExactCall& call, double times) {
  const std::string formula = times == 1.0 ? "|y|" : absl::StrFormat("%.3g |y|", times);
  return each_rounding(formula, call, times, [=](size_t, double y) { return times * std::abs(y); });
}

Rounding sum_rounding(Op& op, const ExactCall& call) {
  return rounding_of_terms("(n - 1) sum(|x|)", op, call, 0.0);
}

Rounding closed_sum_rounding(Op& op, const ExactCall& call) {
  Rounding rounding = sum_rounding(op, call);
  rounding.sum_roundings = 0.0;
  return rounding;
}

Rounding product_rounding(Op& op, const ExactCall& call) {
  return rounding_of_terms("n |A| |B|", op, call, 1.0);
}

}  // namespace qkv
