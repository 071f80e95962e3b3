#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/rules.h"

// How softmax and its logarithm round.
namespace qkv {

// One row of softmax: t = x - max(x), p = exp(t) / s, s = sum(exp(t)). An error of t is one of
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
      weighted += e * (std::abs(t) + kExpRoundings);
      largest = std::max(largest, std::abs(t));
    }
    log_sum = std::log(s);
    sum_error = weighted / s + static_cast<double>(x.size()) - 1;
  }
};

// error(row, x, y) for each element of rows.
template <class Error>
Rounding softmax_rounding(std::string formula, const ExactCall& call, const Error& error) {
  Rounding result = {.formula = std::move(formula)};
  const std::vector<double> x = call.x[0].to_vector(), y = call.y.to_vector();
  const auto width = static_cast<size_t>(call.y.dim(-1));
  for (size_t begin = 0; begin < x.size(); begin += width) {
    const SoftmaxRow row(std::span<const double>(x).subspan(begin, width));
    result.roundings = std::max(result.roundings, row.sum_error + row.largest + kExpRoundings + 2);
    for (size_t i = begin; i < begin + width; ++i) {
      const bool rounds = std::isfinite(x[i]) && std::isfinite(y[i]);
      result.errors.push_back(rounds ? error(row, x[i], y[i]) : 0.0);
    }
  }
  return result;
}

}  // namespace qkv
