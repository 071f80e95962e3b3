#include "framework/kernels/elementwise/vector_math.h"

#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace qkv::kernels {
namespace {

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
