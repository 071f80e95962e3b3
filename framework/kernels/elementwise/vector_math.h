#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "framework/core/float128.h"

// The functions of <cmath> that kernels use. For double all but exp and sigmoid are those of
// <cmath>: the oracle. Float128's are those of the C library. For float, and exp, they have no
// branches and no calls, so that loops over them become vector instructions; an element gets the
// same bits wherever in an array it stands. NaNs stay NaNs, infinities give the limits, and results
// below the smallest normal number may be 0.
//
// Largest relative errors: exp, log and sigmoid 3e-7, tanh, erf and normal_cdf 1e-6 (normal_cdf in
// its left tail x² 6e-8 more), exp of double 2.5e-16, its sigmoid 5e-16. The polynomials of float
// are minimax fits, made with Lawson's algorithm.
namespace qkv::kernels::math {

using std::pow;
using std::sqrt;
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
// Φ(x) = (1 + erf(x / sqrt(2))) / 2, the share of a normal distribution below x
inline double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

inline Float128 sqrt(Float128 x) { return float128::sqrt(x); }
inline Float128 pow(Float128 x, Float128 y) { return float128::pow(x, y); }
inline Float128 log(Float128 x) { return float128::log(x); }
inline Float128 tanh(Float128 x) { return float128::tanh(x); }
inline Float128 erf(Float128 x) { return float128::erf(x); }
inline Float128 normal_cdf(Float128 x) { return float128::erfc(-x / kSqrt2<Float128>) / 2; }

// a b + c, rounded once where the processor can.
template <class T>
inline T multiply_add(T a, T b, T c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// c0 + x (c1 + x (c2 + …))
template <class T>
inline T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
inline T polynomial(T x, T c0, Rest... rest) {
  return multiply_add(polynomial(x, rest...), x, c0);
}

template <class T>
struct ExpOf;
template <>
struct ExpOf<float> {
  using Word = uint32_t;
  static constexpr int kFractionBits = 23;
  static constexpr float kLowest = -87.33654f, kHighest = 88.72283f;
  static constexpr float kRounder = 0x1.8p23f;
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  static float exp_of_rest(float r) {
    return polynomial(r, 1.0f, 1.0f, 0.49999993412f, 0.166665201027f, 0.0416683943159f,
                      0.00836878088388f, 0.00138144620478f);
  }
};
template <>
struct ExpOf<double> {
  using Word = uint64_t;
  static constexpr int kFractionBits = 52;
  static constexpr double kLowest = -708.396418532264,
                          kHighest = 0x1.62e42fefa39efp9;  // log of the largest number
  static constexpr double kRounder = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  // Taylor's: the terms left out are below r^14 / 14!, 4e-18
  static double exp_of_rest(double r) {
    return polynomial(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600,
                      1.0 / 6227020800);
  }
};

template <class T>
inline T exp(T x) {
  using Of = ExpOf<T>;
  using Word = typename Of::Word;
  // x = n ln(2) + r with |r| <= ln(2) / 2, and e^x = 2^n e^r. Adding kRounder leaves no room for a
  // fraction: n stands in the lowest bits of the sum. A shift puts it where the exponent stands.
  const T shifted = multiply_add(x, std::numbers::log2e_v<T>, Of::kRounder);
  const T n = shifted - Of::kRounder;
  const T r = multiply_add(n, -Of::kLn2Low, multiply_add(n, -Of::kLn2High, x));
  const Word exponent = std::bit_cast<Word>(shifted) << Of::kFractionBits;
  const T y = std::bit_cast<T>(std::bit_cast<Word>(Of::exp_of_rest(r)) + exponent);
  // Below kLowest e^x is less than the smallest normal number, and taken for 0: a processor needs a
  // hundred times as long for a product that is not normal, and masked scores are all of that kind.
  const T up_to_highest = x < Of::kLowest ? T(0) : y;
  return x <= Of::kHighest ? up_to_highest : x + std::numeric_limits<T>::infinity();  // or a NaN
}

inline float log(float x) {
  // x = 2^e (1 + z) with 1 + z in [sqrt(1/2), sqrt(2)), and log(x) = e ln(2) + log(1 + z).
  constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const bool tiny = x < std::numeric_limits<float>::min();
  const uint32_t word = std::bit_cast<uint32_t>(tiny ? x * 0x1p23f : x) - kSqrtHalf;
  const float e = static_cast<float>((static_cast<int32_t>(word) >> 23) - (tiny ? 23 : 0));
  const float z = std::bit_cast<float>((word & 0x7fffff) + kSqrtHalf) - 1.0f;
  const float p =
      polynomial(z, -0.5f, 0.333333317123f, -0.250008210842f, 0.20001226398f, -0.166233553708f,
                 0.142017682301f, -0.131602113175f, 0.127615159333f, -0.0763434414408f);
  const float small = multiply_add(z * z, p, e * kLn2Low);
  float y = multiply_add(e, kLn2High, z + small);
  y = x == 0.0f ? -std::numeric_limits<float>::infinity() : y;
  y = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
  return x < std::numeric_limits<float>::infinity() ? y : x + x;  // +inf, and NaN
}

inline Float128 exp(Float128 x) { return float128::exp(x); }

template <class T>
inline T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}

inline float tanh(float x) {
  const float t = std::fabs(x);
  const float large = 1.0f - 2.0f / (1.0f + exp(2.0f * t));
  const float s = x * x;
  const float small =
      multiply_add(t * s,
                   polynomial(s, -0.333332819506f, 0.133314423849f, -0.0537397282186f,
                              0.0206391245455f, -0.00570502409892f),
                   t);
  return std::copysign(t < 0.625f ? small : large, x);
}

// erfc(t) e^(t²) for t >= 0, as a polynomial in 1 / (1 + 0.4 t).
inline float scaled_erfc(float t) {
  const float u = 1.0f / multiply_add(0.4f, t, 1.0f);
  return u * polynomial(u, 0.225634234882f, 0.226443044406f, 0.201888090734f, 0.193391169201f,
                        0.0797614505927f, 0.0879569403647f, 0.0839939219987f, -0.140322516838f,
                        0.0412537264439f);
}

inline float erf(float x) {
  const float t = std::fabs(x);
  const float s = x * x;
  const float large = 1.0f - exp(-s) * scaled_erfc(t);
  const float small =
      multiply_add(t,
                   polynomial(s, 0.128379165506f, -0.376126187921f, 0.112833769252f,
                              -0.0268346387712f, 0.00511437070868f, -0.00067496753624f),
                   t);
  return std::copysign(t < 0.75f ? small : large, x);
}

inline float normal_cdf(float x) {
  const float t = std::fabs(x) * (std::numbers::sqrt2_v<float> / 2);
  const float tail = 0.5f * exp(-0.5f * x * x) * scaled_erfc(t);
  return x < 0.0f ? tail : 1.0f - tail;
}

}  // namespace qkv::kernels::math
