#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#if defined(__SIZEOF_FLOAT128__) && defined(__clang__)
// The C library has these; its header declares them for g++ alone.
extern "C" {
__float128 expf128(__float128) noexcept;
__float128 logf128(__float128) noexcept;
__float128 sinf128(__float128) noexcept;
__float128 sqrtf128(__float128) noexcept;
__float128 powf128(__float128, __float128) noexcept;
__float128 tanhf128(__float128) noexcept;
__float128 coshf128(__float128) noexcept;
__float128 erff128(__float128) noexcept;
__float128 erfcf128(__float128) noexcept;
__float128 fabsf128(__float128) noexcept;
int strfromf128(char*, size_t, const char*, __float128) noexcept;
}
#endif

namespace qkv {

// IEEE 754's binary128: 113 bits of fraction, which software computes.
#ifdef __SIZEOF_FLOAT128__
using Float128 = __float128;
#else  // arm64, where long double is that
using Float128 = long double;
#endif
static_assert(sizeof(Float128) == 16);

// The C library's functions.
namespace float128 {
#ifdef __SIZEOF_FLOAT128__
inline Float128 exp(Float128 x) { return ::expf128(x); }
inline Float128 log(Float128 x) { return ::logf128(x); }
inline Float128 sin(Float128 x) { return ::sinf128(x); }
inline Float128 sqrt(Float128 x) { return ::sqrtf128(x); }
inline Float128 pow(Float128 x, Float128 y) { return ::powf128(x, y); }
inline Float128 tanh(Float128 x) { return ::tanhf128(x); }
inline Float128 cosh(Float128 x) { return ::coshf128(x); }
inline Float128 erf(Float128 x) { return ::erff128(x); }
inline Float128 erfc(Float128 x) { return ::erfcf128(x); }
inline Float128 abs(Float128 x) { return ::fabsf128(x); }
#else
using std::abs, std::cosh, std::erf, std::erfc, std::exp, std::log, std::pow, std::sin, std::sqrt,
    std::tanh;
#endif
inline bool is_finite(Float128 x) { return x - x == 0; }
}  // namespace float128

template <class T>
inline constexpr T kInfinityOf = static_cast<T>(std::numeric_limits<double>::infinity());
// Constants in any number type, like those of <numbers>; a Float128 is the sum of three doubles.
template <class T>
inline constexpr T kSqrt2 = std::numbers::sqrt2_v<T>;
template <>
inline constexpr Float128 kSqrt2<Float128> = Float128(0x1.6a09e667f3bcdp+0) -
                                             0x1.bdd3413b26456p-54 + 0x1.57d3e3adec175p-108;
template <class T>
inline constexpr T kInverseSqrtPi = std::numbers::inv_sqrtpi_v<T>;
template <>
inline constexpr Float128 kInverseSqrtPi<Float128> = Float128(0x1.20dd750429b6dp-1) +
                                                     0x1.1ae3a914fed80p-57 - 0x1.3cbbebf65f145p-112;

}  // namespace qkv
