#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "gtest/gtest.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

Rounded inner_of_gelu(Rounded x) {
  return constant(0.79788456080286535588) * (x + constant(0.044715) * x * x * x);
}
Rounded normal_density(Rounded x) {
  return exp(Rounded(-0.5) * x * x) * constant(0.39894228040143267794);
}

struct Function {
  Unary kernel;
  const char* name;
  bool needs_positive;
  std::function<Rounded(Rounded)> formula;
  std::function<Rounded(Rounded)> derivative;  // of the activations
};

const std::vector<Function>& functions() {
  using R = Rounded;
  static const auto& list = *new std::vector<Function>{
      {Unary::neg, "neg", false, [](R x) { return -x; }, nullptr},
      {Unary::exp, "exp", false, [](R x) { return exp(x); }, nullptr},
      {Unary::log, "log", true, [](R x) { return log(x); }, nullptr},
      {Unary::sqrt, "sqrt", true, [](R x) { return sqrt(x); }, nullptr},
      {Unary::rsqrt, "rsqrt", true, [](R x) { return R(1) / sqrt(x); }, nullptr},
      {Unary::tanh, "tanh", false, [](R x) { return tanh(x); },
       [](R x) { return R(1) - tanh(x) * tanh(x); }},
      {Unary::sigmoid, "sigmoid", false, [](R x) { return sigmoid(x); },
       [](R x) { return sigmoid(x) * (R(1) - sigmoid(x)); }},
      {Unary::relu, "relu", false, [](R x) { return x.value > 0 ? x : R(0); },
       [](R x) { return x.value > 0 ? R(1) : R(0); }},
      {Unary::erf, "erf", false, [](R x) { return erf(x); }, nullptr},
      {Unary::gelu_erf, "gelu_erf", false, [](R x) { return x * normal_cdf(x); },
       [](R x) { return normal_cdf(x) + x * normal_density(x); }},
      {Unary::gelu_tanh, "gelu_tanh", false,
       [](R x) { return R(0.5) * x * (R(1) + tanh(inner_of_gelu(x))); },
       [](R x) {
         const R t = tanh(inner_of_gelu(x));
         const R slope =
             constant(0.79788456080286535588) * (R(1) + R(3) * constant(0.044715) * x * x);
         return R(0.5) * ((R(1) + t) + x * (R(1) - t * t) * slope);
       }},
      {Unary::silu, "silu", false, [](R x) { return x * sigmoid(x); },
       [](R x) {
         const R s = sigmoid(x);
         return s * (R(1) + x * (R(1) - s));
       }},
  };
  return list;
}

TEST(Elementwise, UnariesAndTheirDerivativesAreTheirFormulasAndHaveTheSameBits) {
  for (const Function& f : functions()) {
    SCOPED_TRACE(f.name);
    for (const Shape& shape : shapes(1, 1)) {
      const Array wide = f.needs_positive ? positive(normal(shape, 2)) : normal(shape, 2);
      for (const DType dtype : {DType::f64, DType::f32}) {
        const Array x = as(dtype, wide), dy = as(dtype, normal(shape, 3));
        const std::vector<Array> y = same_bits_for_any_threads([&] {
          Array value(shape, dtype), gradient(shape, dtype);
          unary(f.kernel, x, value);
          if (!f.derivative) return std::vector{value};
          unary_backward(f.kernel, x, dy, gradient);
          return std::vector{value, gradient};
        });
        EXPECT_EQ(outside(y[0], mapped(x, f.formula)), "");
        if (!f.derivative) continue;
        const auto dx = [&](Rounded v, Rounded d) { return d * f.derivative(v); };
        EXPECT_EQ(outside(y[1], mapped(x, dy, dx)), "");
      }
    }
  }
}

TEST(Elementwise, UnariesKeepNaNsAndGiveLimits) {
  struct Limit {
    Unary f;
    double x, y;
  };
  const Limit limits[] = {
      {Unary::exp, kInf, kInf},      {Unary::exp, -kInf, 0},      {Unary::exp, 1000, kInf},
      {Unary::log, 0, -kInf},        {Unary::log, -1, kNaN},      {Unary::log, kInf, kInf},
      {Unary::sqrt, -1, kNaN},       {Unary::rsqrt, 0, kInf},     {Unary::tanh, -kInf, -1},
      {Unary::sigmoid, -kInf, 0},    {Unary::sigmoid, kInf, 1},   {Unary::sigmoid, -1000, 0},
      {Unary::relu, -kInf, 0},       {Unary::relu, kInf, kInf},   {Unary::erf, kInf, 1},
      {Unary::gelu_erf, kInf, kInf}, {Unary::gelu_erf, -1000, 0}, {Unary::gelu_tanh, kInf, kInf},
      {Unary::gelu_tanh, -1000, 0},  {Unary::silu, kInf, kInf},   {Unary::silu, -1000, 0},
  };
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const Limit& limit : limits) {
      Array y({1}, dtype);
      unary(limit.f, Array::full({1}, dtype, limit.x), y);
      SCOPED_TRACE(std::to_string(static_cast<int>(limit.f)) + " " + std::to_string(limit.x));
      expect_close(y, Array::full({1}, DType::f64, limit.y), 0);
    }
    for (const Function& f : functions()) {
      Array y({5}, dtype);
      unary(f.kernel, Array::full({5}, dtype, kNaN), y);
      for (const double v : y.to_vector()) EXPECT_TRUE(std::isnan(v)) << f.name;
      if (!f.derivative) continue;
      unary_backward(f.kernel, Array::full({5}, dtype, 1), Array::full({5}, dtype, kNaN), y);
      for (const double v : y.to_vector()) EXPECT_TRUE(std::isnan(v)) << f.name;
    }
  }
}

TEST(Elementwise, AnElementsBitsDoNotDependOnItsPlace) {
  constexpr int64_t kSize = 100;
  for (const Function& f : functions()) {
    const Array x = as(DType::f32, positive(normal({kSize}, 5)));
    const Array dy = as(DType::f32, normal({kSize}, 6));
    Array y(x.shape(), DType::f32), dx(x.shape(), DType::f32);
    unary(f.kernel, x, y);
    if (f.derivative) unary_backward(f.kernel, x, dy, dx);
    for (int64_t i = 0; i < kSize; ++i) {
      const double v[] = {x.data<float>()[i]}, d[] = {dy.data<float>()[i]};
      const Array alone = Array::of({1}, DType::f32, v), d_alone = Array::of({1}, DType::f32, d);
      Array one({1}, DType::f32);
      unary(f.kernel, alone, one);
      EXPECT_EQ(one.data<float>()[0], y.data<float>()[i]) << f.name << " " << i;
      if (!f.derivative) continue;
      unary_backward(f.kernel, alone, d_alone, one);
      EXPECT_EQ(one.data<float>()[0], dx.data<float>()[i]) << f.name << " backward " << i;
    }
  }
}

// Two units: the C library promises no more than one in the last place.
Rounded power(Rounded a, Rounded b) {
  const double value = std::pow(a.value, b.value);
  return rounded(value, value * std::abs(std::log(a.value)) * b.error, 2 * kUnit);
}

TEST(Elementwise, BinariesAndScalarsAreTheirFormulasAndHaveTheSameBits) {
  const std::pair<Binary, std::function<Rounded(Rounded, Rounded)>> binaries[] = {
      {Binary::add, [](Rounded a, Rounded b) { return a + b; }},
      {Binary::sub, [](Rounded a, Rounded b) { return a - b; }},
      {Binary::mul, [](Rounded a, Rounded b) { return a * b; }},
      {Binary::div, [](Rounded a, Rounded b) { return a / b; }},
      {Binary::pow, power},
      {Binary::maximum, [](Rounded a, Rounded b) { return a.value > b.value ? a : b; }},
  };
  for (const Shape& shape : shapes(1, 4)) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array a = as(dtype, positive(normal(shape, 5))), b = as(dtype, normal(shape, 6));
      for (const auto& [f, formula] : binaries) {
        SCOPED_TRACE(static_cast<int>(f));
        const Binary function = f;
        const std::vector<Array> sum = same_bits_for_any_threads([&] {
          Array y(shape, dtype);
          binary(function, a, b, y);
          return std::vector{y};
        });
        EXPECT_EQ(outside(sum[0], mapped(a, b, formula)), "");
      }
      Array y(shape, dtype);
      scale(b, -1.7, y);
      EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * constant(-1.7); })), "");
      add_scalar(b, 0.3, y);
      EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v + constant(0.3); })), "");
      for (const double exponent : {2.0, 3.0, -1.0, 0.5, 0.0, 1.7}) {
        pow_scalar(a, exponent, y);
        EXPECT_EQ(outside(y, mapped(a, [=](Rounded v) { return power(v, constant(exponent)); })),
                  "");
      }
      pow_scalar(b, 3.0, y);
      EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * v * v; })), "");
    }
  }
}

TEST(Elementwise, MaximumIsNaNWhenEitherIs) {
  const double a[] = {kNaN, 1, kNaN, 2}, b[] = {1, kNaN, kNaN, 3},
               expected[] = {kNaN, kNaN, kNaN, 3};
  Array y({4}, DType::f32);
  binary(Binary::maximum, Array::of({4}, DType::f32, a), Array::of({4}, DType::f32, b), y);
  expect_close(y, Array::of({4}, DType::f64, expected), 0);
}

TEST(Elementwise, ResultMayBeAnInput) {
  for (const int64_t size : {1, 1001, 50001}) {
    const Array a = normal({size}, 1), b = normal({size}, 2);
    Array expected({size}, DType::f64), y = a.copy();
    binary(Binary::mul, a, b, expected);
    binary(Binary::mul, y, b, y);
    EXPECT_TRUE(bits(y) == bits(expected));
    unary(Unary::tanh, a, expected);
    y = a.copy();
    unary(Unary::tanh, y, y);
    EXPECT_TRUE(bits(y) == bits(expected));
  }
}

TEST(Elementwise, ComparesAndChooses) {
  const double a[] = {1, 2, 3, kNaN}, b[] = {2, 2, 2, 2};
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array left = Array::of({4}, dtype, a), right = Array::of({4}, dtype, b);
    const std::pair<Comparison, std::vector<double>> list[] = {
        {Comparison::less, {1, 0, 0, 0}},          {Comparison::less_equal, {1, 1, 0, 0}},
        {Comparison::equal, {0, 1, 0, 0}},         {Comparison::greater, {0, 0, 1, 0}},
        {Comparison::greater_equal, {0, 1, 1, 0}},
    };
    for (const auto& [f, expected] : list) {
      Array mask({4}, DType::boolean);
      compare(f, left, right, mask);
      EXPECT_EQ(mask.to_vector(), expected);
      Array y({4}, dtype);
      where(mask, Array::full({4}, dtype, 5), Array::full({4}, dtype, 7), y);
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y.to_vector()[i], expected[i] != 0 ? 5 : 7);
      masked_fill(right, mask, -kInf, y);
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y.to_vector()[i], expected[i] != 0 ? -kInf : 2);
    }
  }
}

TEST(Elementwise, WhereAndMaskedFillServeLargeArrays) {
  const Array a = as(DType::f32, normal({50001}, 1)), b = as(DType::f32, normal({50001}, 2));
  Array mask({50001}, DType::boolean), y({50001}, DType::f32);
  compare(Comparison::less, a, b, mask);
  where(mask, b, a, y);
  Array expected({50001}, DType::f32);
  binary(Binary::maximum, a, b, expected);
  EXPECT_TRUE(bits(y) == bits(expected));
  masked_fill(a, mask, 0, y);
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(y.data<float>()[i], mask.data<bool>()[i] ? 0 : a.data<float>()[i]);
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  const double values[] = {0, 1, 2, 0, 100};
  const DType all[] = {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean};
  for (const DType from : all) {
    const Array x = Array::of({5}, from, values);
    for (const DType to : all) {
      Array y({5}, to);
      cast(x, y);
      const std::vector<double> got = y.to_vector();
      const bool is_mask = from == DType::boolean || to == DType::boolean;
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(got[i], is_mask ? (values[i] != 0 ? 1 : 0) : values[i])
            << dtype_name(from) << " to " << dtype_name(to);
      }
    }
  }
}

TEST(Elementwise, AllFiniteFindsTheOneThatIsNot) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const int64_t size : {0, 1, 3, 17, 64, 1001, 50001}) {
      const Array x = as(dtype, normal({size}, 1));
      EXPECT_TRUE(all_finite(x));
      for (const double bad : {kNaN, kInf, -kInf}) {
        for (const int64_t place : {int64_t{0}, size / 2, size - 1}) {
          if (size == 0) continue;
          std::vector<double> values = x.to_vector();
          values[static_cast<size_t>(place)] = bad;
          EXPECT_FALSE(all_finite(Array::of(x.shape(), dtype, values)));
        }
      }
    }
  }
  EXPECT_TRUE(all_finite(Array::full({3}, DType::f32, std::numeric_limits<float>::max())));
  EXPECT_TRUE(all_finite(Array::full({3}, DType::i64, 1)));
  EXPECT_TRUE(all_finite(Array::full({3}, DType::boolean, 1)));
}

double squares_of(const Array& x) { return static_cast<double>(sum_of_squares(x)); }

TEST(Elementwise, SumOfSquaresIsTakenInF64) {
  for (const int64_t size : {0, 1, 3, 17, 64, 1001, 50001}) {
    const Array x = normal({size}, 1);
    double expected = 0;
    for (const double v : x.to_vector()) expected += v * v;
    EXPECT_NEAR(squares_of(x), expected, 1e-12 * expected);
    EXPECT_NEAR(squares_of(as(DType::f32, x)), expected, 1e-12 * expected);
  }
  // f32 would overflow
  EXPECT_NEAR(squares_of(Array::full({4}, DType::f32, 0x1p100)), 4 * 0x1p200, 0);
}

constexpr float kInfinityF32 = std::numeric_limits<float>::infinity();
constexpr float kNaNF32 = std::numeric_limits<float>::quiet_NaN();

// Every 997th float from `low` to `high`, both signs' worth of exponents in between.
template <class F>
void for_each_float(float low, float high, F f) {
  for (int64_t word = 0; word < int64_t{1} << 32; word += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(word));
    if (x >= low && x <= high) f(x);
  }
}

template <class F, class Exact>
double worst_relative_error(float low, float high, F f, Exact exact) {
  double worst = 0;
  for_each_float(low, high, [&](float x) {
    const double e = exact(static_cast<double>(x));
    if (std::abs(e) < std::numeric_limits<float>::min()) return;
    const double error = std::abs((static_cast<double>(f(x)) - e) / e);
    if (!(error <= worst)) worst = error;
  });
  return worst;
}

#define WORST(f, low, high) \
  worst_relative_error(     \
      low, high, [](float x) { return math::f(x); }, [](double x) { return math::f(x); })

TEST(VectorMath, ExpIsAccurate) { EXPECT_LT(WORST(exp, -87.0f, 88.7f), 1.5e-7); }
TEST(VectorMath, ExpOfDoubleIsAccurate) {
  double worst = 0;
  for (double x = -708.39; x < 709.78; x += 0x1.3p-8) {
    const long double exact = std::exp(static_cast<long double>(x));
    const long double error = std::abs((math::exp(x) - exact) / exact);
    if (!(error <= worst)) worst = static_cast<double>(error);
  }
  EXPECT_LT(worst, 2.5e-16);
}
TEST(VectorMath, LogIsAccurate) { EXPECT_LT(WORST(log, 0.0f, kInfinityF32), 1.5e-7); }
TEST(VectorMath, SigmoidIsAccurate) { EXPECT_LT(WORST(sigmoid, -87.0f, 100.0f), 3e-7); }
TEST(VectorMath, TanhIsAccurate) { EXPECT_LT(WORST(tanh, -100.0f, 100.0f), 3e-7); }
TEST(VectorMath, ErfIsAccurate) { EXPECT_LT(WORST(erf, -100.0f, 100.0f), 3e-7); }
TEST(VectorMath, NormalCdfIsAccurate) {
  EXPECT_LT(WORST(normal_cdf, -1.0f, 100.0f), 5e-7);
  EXPECT_LT(WORST(normal_cdf, -13.0f, -1.0f), 1e-5);  // x² 6e-8
}

TEST(VectorMath, GivesTheLimits) {
  EXPECT_EQ(math::exp(kInfinityF32), kInfinityF32);
  EXPECT_EQ(math::exp(88.8f), kInfinityF32);
  EXPECT_EQ(math::exp(-kInfinityF32), 0);
  EXPECT_EQ(math::exp(-120.0f), 0);
  EXPECT_EQ(math::exp(0.0f), 1);
  EXPECT_EQ(math::exp(-0.0f), 1);
  constexpr double kInfinityF32inity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(math::exp(kInfinityF32inity), kInfinityF32inity);
  EXPECT_NEAR(math::exp(709.782712893384) / 0x1.fffffffffff2ap1023, 1.0, 4e-16);
  EXPECT_EQ(math::exp(709.79), kInfinityF32inity);
  EXPECT_EQ(math::exp(-kInfinityF32inity), 0);
  EXPECT_EQ(math::exp(-1e300), 0);
  EXPECT_EQ(math::exp(0.0), 1);
  EXPECT_EQ(math::exp(-0.0), 1);
  EXPECT_EQ(math::log(kInfinityF32), kInfinityF32);
  EXPECT_EQ(math::log(0.0f), -kInfinityF32);
  EXPECT_EQ(math::log(-0.0f), -kInfinityF32);
  EXPECT_EQ(math::log(1.0f), 0);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_TRUE(std::isnan(math::log(-kInfinityF32)));
  EXPECT_TRUE(std::isnan(math::log(-1e-40f)));
  EXPECT_EQ(math::sigmoid(kInfinityF32), 1);
  EXPECT_EQ(math::sigmoid(-kInfinityF32), 0);
  EXPECT_EQ(math::sigmoid(0.0f), 0.5f);
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_EQ(math::tanh(sign * kInfinityF32), sign);
    EXPECT_EQ(math::tanh(sign * 50), sign);
    EXPECT_EQ(math::tanh(sign * 1e-30f), sign * 1e-30f);
    EXPECT_EQ(std::signbit(math::tanh(sign * 0)), sign < 0);
    EXPECT_EQ(std::signbit(math::erf(sign * 0)), sign < 0);
    EXPECT_EQ(math::erf(sign * kInfinityF32), sign);
    EXPECT_EQ(math::erf(sign * 20), sign);
  }
  EXPECT_EQ(math::normal_cdf(kInfinityF32), 1);
  EXPECT_EQ(math::normal_cdf(-kInfinityF32), 0);
}

}  // namespace
}  // namespace qkv::kernels
