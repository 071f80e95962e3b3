#include "framework/kernels/elementwise.h"

#include <cmath>
#include <functional>
#include <limits>

#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

struct Function {
  Unary kernel;
  const char* name;
  std::function<double(double)> formula;
  std::function<double(double)> derivative;  // of the activations
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1)); }
double normal_below(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }
double gelu_inner(double x) { return std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x); }

const std::vector<Function>& functions() {
  static const auto& list = *new std::vector<Function>{
      {Unary::neg, "neg", [](double x) { return -x; }, nullptr},
      {Unary::exp, "exp", [](double x) { return std::exp(x); }, nullptr},
      {Unary::log, "log", [](double x) { return std::log(x); }, nullptr},
      {Unary::sqrt, "sqrt", [](double x) { return std::sqrt(x); }, nullptr},
      {Unary::rsqrt, "rsqrt", [](double x) { return 1 / std::sqrt(x); }, nullptr},
      {Unary::tanh, "tanh", [](double x) { return std::tanh(x); },
       [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
      {Unary::sigmoid, "sigmoid", sigmoid, [](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
      {Unary::relu, "relu", [](double x) { return x < 0 ? 0 : x; },
       [](double x) { return x > 0 ? 1.0 : 0.0; }},
      {Unary::erf, "erf", [](double x) { return std::erf(x); }, nullptr},
      {Unary::gelu_erf, "gelu_erf", [](double x) { return x * normal_below(x); },
       [](double x) { return normal_below(x) + x * normal_density(x); }},
      {Unary::gelu_tanh, "gelu_tanh",
       [](double x) { return x / 2 * (1 + std::tanh(gelu_inner(x))); },
       [](double x) {
         const double t = std::tanh(gelu_inner(x));
         const double inner = std::sqrt(2 / std::acos(-1)) * (1 + 3 * 0.044715 * x * x);
         return (1 + t) / 2 + x / 2 * (1 - t * t) * inner;
       }},
      {Unary::silu, "silu", [](double x) { return x * sigmoid(x); },
       [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
  };
  return list;
}

bool needs_positive(Unary f) { return f == Unary::log || f == Unary::sqrt || f == Unary::rsqrt; }

Array each_of(const Array& x, const std::function<double(double)>& f) {
  std::vector<double> values = x.to_vector();
  for (double& v : values) v = f(v);
  return Array::of(x.shape(), DType::f64, values);
}

// Sizes that fill no vector, one, and several pieces.
const std::vector<int64_t>& sizes() {
  static const auto& list = *new std::vector<int64_t>{0, 1, 3, 17, 64, 1001, 50001};
  return list;
}

TEST(Elementwise, UnariesAreTheirFormulas) {
  for (const Function& f : functions()) {
    for (const int64_t size : sizes()) {
      SCOPED_TRACE(f.name);
      Array x = normal({size}, 1);
      if (needs_positive(f.kernel)) x = each_of(x, [](double v) { return v * v + 0.125; });
      x = as(DType::f64, as(DType::f32, x));
      const Array expected = each_of(x, f.formula);
      for (const DType dtype : {DType::f64, DType::f32}) {
        Array y(x.shape(), dtype);
        unary(f.kernel, as(dtype, x), y);
        expect_close(y, expected, dtype == DType::f64 ? 1e-14 : 5e-7, 0.5);
      }
    }
  }
}

TEST(Elementwise, ActivationsHaveTheirDerivatives) {
  for (const Function& f : functions()) {
    if (!f.derivative) continue;
    for (const int64_t size : sizes()) {
      SCOPED_TRACE(f.name);
      const Array x = normal({size}, 1), dy = normal({size}, 2);
      Array expected = each_of(x, f.derivative);
      binary(Binary::mul, expected, dy, expected);
      for (const DType dtype : {DType::f64, DType::f32}) {
        Array dx(x.shape(), dtype);
        unary_backward(f.kernel, as(dtype, x), as(dtype, dy), dx);
        expect_close(dx, expected, dtype == DType::f64 ? 1e-14 : 1e-6);
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
    const Array x = as(DType::f32, each_of(normal({kSize}, 5), [](double v) { return v * v; }));
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

TEST(Elementwise, BinariesAreTheirFormulas) {
  const std::pair<Binary, std::function<double(double, double)>> list[] = {
      {Binary::add, [](double a, double b) { return a + b; }},
      {Binary::sub, [](double a, double b) { return a - b; }},
      {Binary::mul, [](double a, double b) { return a * b; }},
      {Binary::div, [](double a, double b) { return a / b; }},
      {Binary::pow, [](double a, double b) { return std::pow(a, b); }},
      {Binary::maximum, [](double a, double b) { return a > b ? a : b; }},
  };
  for (const auto& [f, formula] : list) {
    for (const int64_t size : sizes()) {
      const Array a =
          as(DType::f64,
             as(DType::f32, each_of(normal({size}, 1), [](double v) { return v * v + 0.125; })));
      const Array b = normal({size}, 2);
      std::vector<double> expected = a.to_vector();
      const std::vector<double> right = b.to_vector();
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = formula(expected[i], right[i]);
      for (const DType dtype : {DType::f64, DType::f32}) {
        Array y(a.shape(), dtype);
        binary(f, as(dtype, a), as(dtype, b), y);
        expect_close(y, Array::of(a.shape(), DType::f64, expected),
                     dtype == DType::f64 ? 1e-15 : 3e-7, 0.1);
      }
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

TEST(Elementwise, ScalarsScaleAddAndRaise) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array x = as(dtype, each_of(normal({1001}, 1), [](double v) { return v * v + 0.25; }));
    Array y(x.shape(), dtype);
    scale(x, -1.75, y);
    expect_close(y, each_of(x, [](double v) { return v * -1.75; }), 1e-6);
    add_scalar(x, 2.5, y);
    expect_close(y, each_of(x, [](double v) { return v + 2.5; }), 1e-6);
    for (const double exponent : {2.0, 3.0, -1.0, 0.5, 0.0, 1.7}) {
      pow_scalar(x, exponent, y);
      expect_close(y, each_of(x, [=](double v) { return std::pow(v, exponent); }), 1e-6);
    }
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

TEST(Elementwise, CastToBf16RoundsToNearestEvenAndKeepsNaN) {
  const double x[] = {1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1.1p-8, kNaN, -kInf, 3.4e38};
  const double y[] = {1, 1 + 0x1p-6, 1 + 0x1p-7, kNaN, -kInf, kInf};
  Array narrow({6}, DType::bf16), wide({6}, DType::f32);
  cast(Array::of({6}, DType::f32, x), narrow);
  cast(narrow, wide);
  expect_close(wide, Array::of({6}, DType::f64, y), 0);
}

TEST(Elementwise, AllFiniteFindsTheOneThatIsNot) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const int64_t size : sizes()) {
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
  for (const int64_t size : sizes()) {
    const Array x = normal({size}, 1);
    double expected = 0;
    for (const double v : x.to_vector()) expected += v * v;
    EXPECT_NEAR(squares_of(x), expected, 1e-12 * expected);
    EXPECT_NEAR(squares_of(as(DType::f32, x)), expected, 1e-12 * expected);
  }
  // f32 would overflow
  EXPECT_NEAR(squares_of(Array::full({4}, DType::f32, 0x1p100)), 4 * 0x1p200, 0);
}

TEST(Elementwise, HasTheSameBitsForAnyThreads) {
  const Array x = as(DType::f32, normal({100003}, 1)), dy = as(DType::f32, normal({100003}, 2));
  expect_same_bits_for_any_threads([&] {
    Array y(x.shape(), DType::f32), dx(x.shape(), DType::f32), sum(x.shape(), DType::f32);
    unary(Unary::gelu_erf, x, y);
    unary_backward(Unary::gelu_erf, x, dy, dx);
    binary(Binary::add, x, dy, sum);
    return std::vector<Array>{y, dx, sum, Array::full({1}, DType::f64, squares_of(x))};
  });
}

}  // namespace
}  // namespace qkv::kernels
