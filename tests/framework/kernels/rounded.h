#pragma once

// A number, and how far from it a result in f32 may be: running error analysis, Wilkinson 1963. The
// formula of a kernel, written with these numbers, gives its exact result and a tolerance that
// follows from the operations and from the length of the sums.
//
// One operation rounds once: fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| <= u = 2⁻²⁴. A sum of n terms, in
// whatever order: |error| <= γ Σ|x|, γ = (n - 1) u / (1 - (n - 1) u). Higham, "Accuracy and
// stability of numerical algorithms", 2002, sections 2.2, 3.3 and 4.2.

#include <cmath>
#include <vector>

namespace qkv::kernels {

constexpr double kUnit = 0x1p-24;
// Below the smallest normal number of f32 results may be 0.
constexpr double kTiny = 0x1p-126;
// What vector_math.h promises of its functions.
constexpr double kExpError = 3e-7, kTanhError = 1e-6;

struct Rounded {
  double value = 0.0;
  double error = 0.0;  // of the result in f32

  Rounded() = default;
  Rounded(double exact) : value(exact) {}  // NOLINT: a number that f32 holds
  Rounded(double v, double e) : value(v), error(e) {}
};

inline double largest(Rounded a) { return std::abs(a.value) + a.error; }

// A result whose operands bring `error` along, rounded once.
inline Rounded rounded(double value, double error, double relative = kUnit) {
  return {value, error + relative * (std::abs(value) + error) + kTiny};
}

inline Rounded operator-(Rounded a) { return {-a.value, a.error}; }
inline Rounded operator+(Rounded a, Rounded b) {
  return rounded(a.value + b.value, a.error + b.error);
}
inline Rounded operator-(Rounded a, Rounded b) { return a + -b; }
inline Rounded operator*(Rounded a, Rounded b) {
  return rounded(a.value * b.value,
                 std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
}
inline Rounded operator/(Rounded a, Rounded b) {
  const double quotient = a.value / b.value;
  const double smallest = std::abs(b.value) - b.error;  // of the divisor
  return rounded(quotient, (a.error + std::abs(quotient) * b.error) / smallest);
}

inline Rounded sqrt(Rounded a) {
  const double root = std::sqrt(a.value);
  return rounded(root, a.error == 0.0 ? 0.0 : a.error / root);  // |√(a + e) - √a| <= e / √a
}
inline Rounded exp(Rounded a) {
  const double value = std::exp(a.value);
  return rounded(value, value * std::expm1(a.error), kExpError);
}
inline Rounded log(Rounded a) {
  return rounded(std::log(a.value), a.error / (a.value - a.error), kExpError);
}
inline Rounded sigmoid(Rounded a) {  // its slope is 1/4 at most
  return rounded(1.0 / (1.0 + std::exp(-a.value)), a.error / 4, kExpError);
}
inline Rounded tanh(Rounded a) {  // slope 1
  return rounded(std::tanh(a.value), a.error, kTanhError);
}
inline Rounded erf(Rounded a) {  // slope 2 / sqrt(pi)
  return rounded(std::erf(a.value), 1.13 * a.error, kTanhError);
}
inline Rounded normal_cdf(Rounded a) {  // slope 1 / sqrt(2 pi)
  const double tail = a.value < 0 ? 6e-8 * a.value * a.value : 0.0;
  return rounded(std::erfc(-a.value / std::sqrt(2.0)) / 2, 0.4 * a.error, kTanhError + tail);
}

// The sum of term(i) over i < n, in any order.
template <class Term>
Rounded sum(int64_t n, Term term) {
  Rounded total;
  double magnitude = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const Rounded x = term(i);
    total.value += x.value;
    total.error += x.error;
    magnitude += largest(x);
  }
  const double nu = static_cast<double>(n > 0 ? n - 1 : 0) * kUnit;
  // The result is rounded to f32 even where the sum was taken in f64.
  total.error += nu / (1.0 - nu) * magnitude + kUnit * std::abs(total.value);
  return total;
}

template <class Term>
Rounded mean(int64_t n, Term term) {
  return sum(n, term) / Rounded(static_cast<double>(n));
}

}  // namespace qkv::kernels
