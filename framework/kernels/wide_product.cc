#include "framework/kernels/wide_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/kernels/parallel.h"
#include "framework/kernels/vector.h"

namespace qkv::kernels {
namespace {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool kHasMultiplyAdd = true;
#else
constexpr bool kHasMultiplyAdd = false;
#endif

// The least part of x is 2^-112 of it. The product of two such, and what its rounding loses, are
// normal numbers where |x| is 2^-300 to 2^300.
constexpr int kMostExponent = 300;

constexpr int64_t kTileWidth = kVectorLength<double>;  // of a tile
constexpr int64_t kWideGrain = 32768;                  // multiply-adds worth a piece

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// x is the sum of the parts, of 53, 30 and 30 bits. False where it is out of range.
bool split(Float128 x, double (&parts)[3]) {
  // IEEE 754: a sign, 15 bits of exponent, 112 of fraction
  const auto [low, high] = std::bit_cast<std::array<uint64_t, 2>>(x);
  const uint64_t sign = high >> 63 << 63, fraction = high << 16 >> 12 | low >> 60;
  const int exponent = static_cast<int>(high >> 48 & 0x7fff) - 16383;
  parts[0] = parts[1] = parts[2] = 0;
  if (x == 0) return true;
  if (std::abs(exponent) > kMostExponent) return false;
  const uint64_t rest = low << 4 >> 4, kHalf = (uint64_t{1} << 30) - 1;
  parts[0] = std::bit_cast<double>(sign | static_cast<uint64_t>(exponent + 1023) << 52 | fraction);
  parts[1] = std::copysign(static_cast<double>(rest >> 30) * power_of_two(exponent - 82), parts[0]);
  parts[2] =
      std::copysign(static_cast<double>(rest & kHalf) * power_of_two(exponent - 112), parts[0]);
  return true;
}

// Rows of numbers, each as three rows of parts, which zeros fill up.
struct Parts {
  int64_t width;
  std::vector<double> numbers;  // [rows, 3, width]
  bool in_range;

  const double* row(int64_t i) const { return numbers.data() + i * 3 * width; }
};

Parts parts_of(const Float128* x, int64_t rows, int64_t columns, int64_t width) {
  Parts result = {width, std::vector<double>(static_cast<size_t>(rows * 3 * width)), true};
  std::atomic<bool> in_range = true;
  parallel_for(rows, piece_rows(columns, kWideGrain), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* row = result.numbers.data() + i * 3 * width;
      for (int64_t j = 0; j < columns; ++j) {
        double parts[3];
        if (!split(x[i * columns + j], parts)) in_range = false;
        for (int64_t p = 0; p < 3; ++p) row[p * width + j] = parts[p];
      }
    }
  });
  result.in_range = in_range;
  return result;
}

// sum += x, but for what its rounding loses, which is returned (Knuth, "The art of computer
// programming", vol. 2, 4.2.2, theorem B).
inline double two_sum(double& sum, double x) {
  const double before = sum;
  sum += x;
  const double moved = sum - before;
  return (before - (sum - moved)) + (x - moved);
}

// A tile of c = a b + start, of three sums for each number, the second 2^-53 of the first, the
// third 2^-53 of that. `left` has the parts of kRows rows, of k numbers each; `right` those of k
// rows and `start` those of one row, of `width` numbers.
template <int kRows>
void tile(const double* left, const double* right, const double* start, int64_t k, int64_t width,
          Float128* c, int64_t columns, int64_t l) {
  double first[kRows][kTileWidth], second[kRows][kTileWidth], third[kRows][kTileWidth];
  for (int row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < kTileWidth; ++j) {
      first[row][j] = start[j];
      second[row][j] = start[width + j];
      third[row][j] = start[2 * width + j];
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    const double* b = right + i * 3 * width;
    for (int row = 0; row < kRows; ++row) {
      const double* a = left + row * 3 * k + i;
      const double a0 = a[0], a1 = a[k], a2 = a[2 * k];
#pragma omp simd
      for (int64_t j = 0; j < kTileWidth; ++j) {
        const double b0 = b[j], b1 = b[width + j], b2 = b[2 * width + j];
        const double p = a0 * b0, q = a0 * b1, r = a1 * b0;
        double s = second[row][j], t = third[row][j];
        const double lost = two_sum(first[row][j], p);
        t += two_sum(s, lost) + two_sum(s, std::fma(a0, b0, -p)) + two_sum(s, q) + two_sum(s, r);
        t += std::fma(a0, b1, -q) + std::fma(a1, b0, -r);
        t += std::fma(a1, b1, std::fma(a0, b2, a2 * b0));
        second[row][j] = s, third[row][j] = t;
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < columns; ++j) {
      c[row * l + j] = Float128(third[row][j]) + second[row][j] + first[row][j];
    }
  }
}

}  // namespace

bool wide_product(const Array& a, const Array& b, const Array* bias, Array& c) {
  if (!kHasMultiplyAdd) return false;
  const int64_t n = c.shape()[0], m = c.shape()[1], l = c.shape()[2], k = a.shape()[2];
  const int64_t width = whole_vectors<double>(l);
  const Parts left = parts_of(a.data<Float128>(), a.shape()[0] * m, k, k);
  const Parts right = parts_of(b.data<Float128>(), b.shape()[0] * k, l, width);
  const Parts start = bias
                          ? parts_of(bias->data<Float128>(), 1, l, width)
                          : Parts{width, std::vector<double>(static_cast<size_t>(3 * width)), true};
  if (!left.in_range || !right.in_range || !start.in_range) return false;
  const int64_t step_a = a.shape()[0] == 1 ? 0 : m, step_b = b.shape()[0] == 1 ? 0 : k;
  Float128* out = c.mutable_data<Float128>();
  parallel_for(n * m, piece_rows(k * l, kWideGrain), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t matrix = row / m;
      const double* x = left.row(matrix * step_a + row % m);
      const double* y = right.row(matrix * step_b);
      const bool is_four = std::min(end, (matrix + 1) * m) - row >= 4;
      for (int64_t j = 0; j < l; j += kTileWidth) {
        const int64_t columns = std::min(kTileWidth, l - j);
        (is_four ? tile<4> : tile<1>)(x, y + j, start.row(0) + j, k, width, out + row * l + j,
                                      columns, l);
      }
      row += is_four ? 4 : 1;
    }
  });
  return true;
}

}  // namespace qkv::kernels
