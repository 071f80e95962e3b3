#include "framework/gradcheck/rounding_rules.h"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

// What kernels/vector_math.h promises for float, in units of its u = 2^-24 = 6.0e-8.
constexpr double kU = 0x1p-24;
constexpr double kExp = 3e-7 / kU;   // exp, log, sigmoid
constexpr double kTanh = 1e-6 / kU;  // tanh, erf

Rounding exact(const ExactCall&) { return {}; }

// error(i) for each element of y. What is not finite was not rounded.
template <class Error>
Rounding each(const ExactCall& call, double roundings, Error error) {
  const std::vector<double> y = call.y.to_vector();
  Rounding result = {.errors = std::vector<double>(y.size()), .roundings = roundings};
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isfinite(y[i])) result.errors[i] = error(i, y[i]);
  }
  return result;
}

// c |y|
Rounding relative(const ExactCall& call, double c) {
  return each(call, c, [=](size_t, double y) { return c * std::abs(y); });
}
template <int kTimes>
Rounding rounded(const ExactCall& call) {
  return relative(call, kTimes);
}
Rounding as_exp(const ExactCall& call) { return relative(call, kExp); }
Rounding as_tanh(const ExactCall& call) { return relative(call, kTanh); }

// The op of numbers made of its inputs' numbers.
template <class F>
std::vector<double> op_of(const ExactCall& call, F f) {
  std::vector<Tensor> inputs;
  for (const Tensor& x : call.x) {
    std::vector<double> values = x.to_vector();
    std::ranges::transform(values, values.begin(), f);
    inputs.emplace_back(Array::of(x.shape(), DType::f64, values));
  }
  return call.op.forward(Inputs(inputs)).to_vector();
}

// Sums of n terms; `more` counts what else is rounded in a term. The op of ones counts the terms.
Rounding sum_of_terms(const ExactCall& call, double more) {
  const std::vector<double> n = op_of(call, [](double) { return 1.0; });
  const std::vector<double> sum_of_absolutes = op_of(call, [](double x) { return std::abs(x); });
  const double terms = n.empty() ? 0.0 : *std::ranges::max_element(n);
  return each(call, std::max(0.0, terms - 1 + more), [&](size_t i, double) {
    return std::max(0.0, n[i] - 1 + more) * sum_of_absolutes[i];
  });
}
Rounding as_sum(const ExactCall& call) { return sum_of_terms(call, 0.0); }
Rounding as_product(const ExactCall& call) { return sum_of_terms(call, 1.0); }

// What is added to a sum of n terms may as well be its first term: the bias of a product, a
// gradient that a kernel adds to. It is then rounded as often as they.
Rounding as_add(const ExactCall& call) {
  const std::vector<double> a = call.x[0].to_vector(), b = call.x[1].to_vector();
  const double roundings_a = call.roundings[0], roundings_b = call.roundings[1];
  return each(call, 1, [&](size_t i, double y) {
    return std::abs(y) + roundings_a * std::abs(b[i]) + roundings_b * std::abs(a[i]);
  });
}

// The number is rounded as well: y - x where the op does not say.
Rounding as_add_scalar(const ExactCall& call) {
  const std::vector<double> x = call.x[0].to_vector();
  return each(call, 2, [&](size_t i, double y) { return std::abs(y - x[i]) + std::abs(y); });
}

// x^(n (1 + δ)) = y (1 + δ n log(x)), and n log(x) = log(y). Of std::pow less than 1 ulp = 2 u.
Rounding as_pow(const ExactCall& call) {
  return each(call, 3, [](size_t, double y) {
    return y == 0.0 ? 0.0 : (2 + std::abs(std::log(std::abs(y)))) * std::abs(y);
  });
}

Rounding as_masked_fill(const ExactCall& call) {
  const std::vector<double> x = call.x[0].to_vector();
  return each(call, 1, [&](size_t i, double y) { return y == x[i] ? 0.0 : std::abs(y); });
}

// y = a cos - b sin: cos and sin are rounded, the products, and the sum.
Rounding as_rotary(const ExactCall& call) {
  const std::vector<double> x = call.x[0].to_vector();
  return each(call, 3, [&](size_t i, double) {
    const size_t pair = i / 2 * 2;
    return 3 * std::hypot(x[pair], x[pair + 1]);  // |a cos| + |b sin| at most
  });
}

// Of one row of softmax: t = x - max(x), p = exp(t) / s, s = sum(exp(t)). An error of t is one of
// that size in exp(t), relatively. (Blanchard, Higham and Higham, "Accurately computing the
// log-sum-exp and softmax functions", 2021.)
struct SoftmaxRow {
  double max = -INFINITY, log_sum = 0.0;
  double sum_error = 0.0;  // of s, relatively
  double largest = 0.0;    // |t|, where p is not 0

  explicit SoftmaxRow(std::span<const double> x) {
    for (const double v : x) max = std::max(max, v);
    if (max == -INFINITY) return;  // masked whole: zeros
    double s = 0.0, weighted = 0.0;
    for (const double v : x) {
      const double t = v - max, e = std::exp(t);
      if (e == 0.0) continue;
      s += e;
      weighted += e * (std::abs(t) + kExp);
      largest = std::max(largest, std::abs(t));
    }
    log_sum = std::log(s);
    sum_error = weighted / s + static_cast<double>(x.size()) - 1;
  }
};

// error(row, x, y) for each element of rows.
template <class Error>
Rounding each_of_rows(const ExactCall& call, Error error) {
  Rounding result;
  const std::vector<double> x = call.x[0].to_vector(), y = call.y.to_vector();
  const auto width = static_cast<size_t>(call.y.shape()[-1]);
  for (size_t begin = 0; begin < x.size(); begin += width) {
    const SoftmaxRow row(std::span<const double>(x).subspan(begin, width));
    result.roundings = std::max(result.roundings, row.sum_error + row.largest + kExp + 2);
    for (size_t i = begin; i < begin + width; ++i) {
      const bool rounds = std::isfinite(x[i]) && std::isfinite(y[i]);
      result.errors.push_back(rounds ? error(row, x[i], y[i]) : 0.0);
    }
  }
  return result;
}

// The quotient is a product with 1 / s: two roundings.
Rounding as_softmax(const ExactCall& call) {
  return each_of_rows(call, [](const SoftmaxRow& row, double x, double y) {
    return y == 0.0 ? 0.0 : y * (std::abs(x - row.max) + kExp + row.sum_error + 2);
  });
}

// y = t - log(s); std::log has less than 1 ulp = 2 u. For backward, kernels may keep
// lse = max(x) + log(s), which is rounded once more.
Rounding as_log_softmax(const ExactCall& call) {
  return each_of_rows(call, [](const SoftmaxRow& row, double x, double y) {
    return std::abs(x - row.max) + row.sum_error + 2 * row.log_sum + std::abs(y) +
           std::abs(row.max + row.log_sum);
  });
}

constexpr RoundingRule kRoundingRules[] = {
    // They move numbers, choose one of several, or change a sign.
    {"broadcast_to", "0", exact},
    {"concat", "0", exact},
    {"embedding", "0", exact},
    {"gather", "0", exact},
    {"max", "0", exact},
    {"maximum", "0", exact},
    {"neg", "0", exact},
    {"pad", "0", exact},
    {"permute", "0", exact},
    {"relu", "0", exact},
    {"reshape", "0", exact},
    {"slice", "0", exact},
    {"unfold", "0", exact},
    {"where", "0", exact},
    // Rounded once: IEEE 754.
    {"sub", "|y|", rounded<1>},
    {"mul", "|y|", rounded<1>},
    {"div", "|y|", rounded<1>},
    {"sqrt", "|y|", rounded<1>},
    {"attention_output", "|y|", rounded<1>},
    // Twice: a root and a quotient; a number that is rounded itself, and a product with it.
    {"rsqrt", "2 |y|", rounded<2>},
    {"scale", "2 |y|", rounded<2>},
    {"dropout", "2 |y|", rounded<2>},
    {"dropout_backward", "2 |y|", rounded<2>},
    {"add", "|y|, and n |b| where a is a sum of n terms", as_add},
    {"add_scalar", "|term| + |y|", as_add_scalar},
    {"masked_fill", "|value| where it is filled in", as_masked_fill},
    {"rotary", "3 sqrt(a² + b²) of each pair", as_rotary},
    {"rotary_backward", "3 sqrt(a² + b²) of each pair", as_rotary},
    // As kernels/vector_math.h promises: 3e-7 and 1e-6 of f32.
    {"exp", "5.03 |y|", as_exp},
    {"log", "5.03 |y|", as_exp},
    {"sigmoid", "5.03 |y|", as_exp},
    {"tanh", "16.8 |y|", as_tanh},
    {"erf", "16.8 |y|", as_tanh},
    {"pow", "(2 + |log(|y|)|) |y|", as_pow},
    // Sums of n terms.
    {"sum", "(n - 1) sum(|x|)", as_sum},
    {"sum_to", "(n - 1) sum(|x|)", as_sum},
    {"scatter_add", "(n - 1) sum(|x|)", as_sum},
    {"embedding_backward", "(n - 1) sum(|x|)", as_sum},
    {"fold", "(n - 1) sum(|x|)", as_sum},
    {"matmul", "n |A| |B|", as_product},
    {"softmax", "y (|t| + 5.03 + r + 2), r = sum(y (|t| + 5.03)) + n - 1, t = x - max(x)",
     as_softmax},
    {"log_softmax", "|t| + r + 2 log(sum(exp(t))) + |y| + |lse|", as_log_softmax},
};

}  // namespace

std::span<const RoundingRule> rounding_rules() { return kRoundingRules; }

const RoundingRule* rounding_rule_of(std::string_view op) {
  const auto* found = std::ranges::find(kRoundingRules, op, &RoundingRule::op);
  return found == std::end(kRoundingRules) ? nullptr : found;
}

}  // namespace qkv
