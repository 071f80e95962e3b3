// Kernels in f32 that work on each element by itself, against their formulas.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "framework/kernels/elementwise.h"
#include "framework/kernels/random.h"
#include "tests/framework/kernels/f32.h"

namespace qkv::kernels {
namespace {

Rounded inner_of_gelu(Rounded x) {
  return constant(0.79788456080286535588) * (x + constant(0.044715) * x * x * x);
}
Rounded normal_density(Rounded x) {
  return exp(Rounded(-0.5) * x * x) * constant(0.39894228040143267794);
}

struct UnaryCase {
  Unary kernel;
  bool needs_positive;
  std::function<Rounded(Rounded)> formula;
  std::function<Rounded(Rounded)> derivative;  // of the activations
};

const std::vector<UnaryCase>& unaries() {
  using R = Rounded;
  static const auto& list = *new std::vector<UnaryCase>{
      {Unary::neg, false, [](R x) { return -x; }, nullptr},
      {Unary::exp, false, [](R x) { return exp(x); }, nullptr},
      {Unary::log, true, [](R x) { return log(x); }, nullptr},
      {Unary::sqrt, true, [](R x) { return sqrt(x); }, nullptr},
      {Unary::rsqrt, true, [](R x) { return R(1) / sqrt(x); }, nullptr},
      {Unary::tanh, false, [](R x) { return tanh(x); },
       [](R x) { return R(1) - tanh(x) * tanh(x); }},
      {Unary::sigmoid, false, [](R x) { return sigmoid(x); },
       [](R x) { return sigmoid(x) * (R(1) - sigmoid(x)); }},
      {Unary::relu, false, [](R x) { return x.value > 0 ? x : R(0); },
       [](R x) { return x.value > 0 ? R(1) : R(0); }},
      {Unary::erf, false, [](R x) { return erf(x); }, nullptr},
      {Unary::gelu_erf, false, [](R x) { return x * normal_cdf(x); },
       [](R x) { return normal_cdf(x) + x * normal_density(x); }},
      {Unary::gelu_tanh, false, [](R x) { return R(0.5) * x * (R(1) + tanh(inner_of_gelu(x))); },
       [](R x) {
         const R t = tanh(inner_of_gelu(x));
         const R slope =
             constant(0.79788456080286535588) * (R(1) + R(3) * constant(0.044715) * x * x);
         return R(0.5) * ((R(1) + t) + x * (R(1) - t * t) * slope);
       }},
      {Unary::silu, false, [](R x) { return x * sigmoid(x); },
       [](R x) {
         const R s = sigmoid(x);
         return s * (R(1) + x * (R(1) - s));
       }},
  };
  return list;
}

TEST(F32, UnariesAndTheirDerivativesAreWithinRounding) {
  for (const UnaryCase& f : unaries()) {
    for (const Shape& shape : shapes(1, 1)) {
      SCOPED_TRACE(static_cast<int>(f.kernel));
      Array x = f32(shape, 2);
      if (f.needs_positive) x = positive(x);
      const Array dy = f32(shape, 3);
      Array y = empty_f32(shape);
      unary(f.kernel, x, y);
      EXPECT_EQ(outside(y, mapped(x, f.formula)), 0);
      if (!f.derivative) continue;
      unary_backward(f.kernel, x, dy, y);
      EXPECT_EQ(
          outside(y, mapped(x, dy, [&](Rounded v, Rounded d) { return d * f.derivative(v); })), 0);
    }
  }
}

TEST(F32, BinariesAndScalarsAreWithinRounding) {
  const std::pair<Binary, std::function<Rounded(Rounded, Rounded)>> binaries[] = {
      {Binary::add, [](Rounded a, Rounded b) { return a + b; }},
      {Binary::sub, [](Rounded a, Rounded b) { return a - b; }},
      {Binary::mul, [](Rounded a, Rounded b) { return a * b; }},
      {Binary::div, [](Rounded a, Rounded b) { return a / b; }},
      {Binary::pow,  // two units: the C library promises no more than one in the last place
       [](Rounded a, Rounded b) { return rounded(std::pow(a.value, b.value), 0.0, 2 * kUnit); }},
      {Binary::maximum, [](Rounded a, Rounded b) { return a.value > b.value ? a : b; }},
  };
  for (const Shape& shape : shapes(1, 4)) {
    const Array a = positive(f32(shape, 5)), b = f32(shape, 6);
    Array y = empty_f32(shape);
    for (const auto& [f, formula] : binaries) {
      SCOPED_TRACE(static_cast<int>(f));
      binary(f, a, b, y);
      EXPECT_EQ(outside(y, mapped(a, b, formula)), 0);
    }
    scale(b, -1.7, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * constant(-1.7); })), 0);
    add_scalar(b, 0.3, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v + constant(0.3); })), 0);
    pow_scalar(b, 3.0, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * v * v; })), 0);
  }
}

TEST(F32, DropoutIsWithinRounding) {
  for (const Shape& shape : shapes(1, 29)) {
    const Array x = f32(shape, 30);
    Array y = empty_f32(shape), dx = empty_f32(shape), mask(shape, DType::boolean);
    dropout(RandomStream(31), 0.3, x, y, mask);
    dropout_backward(mask, 0.3, x, dx);
    const Expected expected = mapped(x, mask, [](Rounded v, Rounded kept) {
      return kept.value != 0 ? v * constant(1 / 0.7) : Rounded(0);
    });
    EXPECT_EQ(outside(y, expected) + outside(dx, expected), 0);
  }
}

}  // namespace
}  // namespace qkv::kernels
