#include "framework/kernels/product/matmul.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/dnnl.h"
#include "framework/kernels/product/product_log.h"

namespace qkv::kernels {
namespace {

// Multiply-adds worth a piece. f64 products of [128, 64] and [64, 64] took 47 to 55 microseconds on
// two threads of a Xeon with AVX-512, 79 to 100 with a grain of 8192, whose pieces are two rows and
// have no tiles of four, and 52 to 54 with 131072; those of 16 to 32 rows differed less than the
// noise.
constexpr int64_t kProductGrain = 32768;

Array with_last_axes_swapped(const Array& x) {
  const Shape& s = x.shape();
  Array y(Shape{s[0], s[2], s[1]}, x.dtype());
  const int axes[] = {0, 2, 1};
  permute(x, axes, y);
  return y;
}

// A tile of c = a b + start, kept in registers over the whole sum. The order of the sum over k does
// not depend on anything else.   a [kRows, k], b [k, l], start [kColumns] or null, c [kRows, l]
template <int kRows, int kColumns, class T>
void tile(const T* a, const T* b, const T* start, int64_t k, int64_t l, T* c) {
  T sum[kRows][kColumns];
  for (int row = 0; row < kRows; ++row) {
    for (int j = 0; j < kColumns; ++j) sum[row][j] = start ? start[j] : T(0);
  }
  for (int64_t i = 0; i < k; ++i) {
    for (int row = 0; row < kRows; ++row) {
      const T factor = a[row * k + i];
#pragma omp simd
      for (int j = 0; j < kColumns; ++j) sum[row][j] += factor * b[i * l + j];
    }
  }
  for (int row = 0; row < kRows; ++row) std::copy_n(sum[row], kColumns, c + row * l);
}

template <int kRows, class T>
void rows_of_tiles(const T* a, const T* b, const T* start, int64_t k, int64_t l, T* c) {
  const auto from = [start](int64_t j) { return start ? start + j : nullptr; };
  int64_t j = 0;
  // In GFLOP/s of f64 at 256 x 256 x 256, on one thread of a Xeon with AVX-512: 4 x 16 26, 8 x 16
  // the same, 4 x 32 21, 4 x 8 20, 2 x 16 18, 1 x 16 9.
  for (; j + 16 <= l; j += 16) tile<kRows, 16>(a, b + j, from(j), k, l, c + j);
  for (; j + 4 <= l; j += 4) tile<kRows, 4>(a, b + j, from(j), k, l, c + j);
  for (; j < l; ++j) tile<kRows, 1>(a, b + j, from(j), k, l, c + j);
}

template <class T>
void matmul_loops(const Array& a, const Array& b, const Array* bias, Array& c) {
  const int64_t m = c.shape()[1], l = c.shape()[2], k = a.shape()[2];
  const int64_t step_a = a.shape()[0] == 1 ? 0 : m * k;
  const int64_t step_b = b.shape()[0] == 1 ? 0 : k * l;
  const T* left = a.data<T>();
  const T* right = b.data<T>();
  const T* start = bias ? bias->data<T>() : nullptr;
  T* out = c.mutable_data<T>();
  const int64_t grain = piece_rows(k * l, kProductGrain);
  parallel_for(c.shape()[0] * m, grain, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t matrix = row / m;
      const T* ar = left + matrix * step_a + row % m * k;
      const T* block = right + matrix * step_b;
      if (std::min(end, (matrix + 1) * m) - row >= 4) {
        rows_of_tiles<4>(ar, block, start, k, l, out + row * l);
        row += 4;
      } else {
        rows_of_tiles<1>(ar, block, start, k, l, out + row * l);
        row += 1;
      }
    }
  });
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool kHasMultiplyAdd = true;
#else
constexpr bool kHasMultiplyAdd = false;
#endif

// The least part of x is 2^-112 of it. The product of two such, and what its rounding loses, are
// normal numbers where |x| is 2^-300 to 2^300.
constexpr int kMostExponent = 300;

constexpr int64_t kWideTile = kVectorLength<double>;  // its columns
constexpr int64_t kWideGrain = 32768;                 // multiply-adds worth a piece

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

// sum += x; returns the rounding error (Knuth, "The art of computer programming", vol. 2, 4.2.2,
// theorem B).
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
void wide_tile(const double* left, const double* right, const double* start, int64_t k,
               int64_t width, Float128* c, int64_t columns, int64_t l) {
  double first[kRows][kWideTile], second[kRows][kWideTile], third[kRows][kWideTile];
  for (int row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < kWideTile; ++j) {
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
      for (int64_t j = 0; j < kWideTile; ++j) {
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

// c = a b + bias for Float128's [n, m, k], [n, k, l], [l] or null and [n, m, l], where n may be 1
// for a or b: with the vector instructions of double. With AVX-512 that takes a ninth of the time
// of Float128's own multiply-adds at 16 x 16 x 16, and a nineteenth at 128 x 128 x 128. A Float128
// is the sum of three doubles, products of two of them are sums of two (Dekker, "A floating-point
// technique for extending the available precision", 1971), and what an addition loses is added to
// the next smaller sum (Knuth's two-sum). The result is as exact as that of Float128's.
//
// False, with c untouched, where some number is so large or small that double has no room for its
// parts, or the processor cannot multiply and add in one step.
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
      for (int64_t j = 0; j < l; j += kWideTile) {
        const int64_t columns = std::min(kWideTile, l - j);
        (is_four ? wide_tile<4> : wide_tile<1>)(x, y + j, start.row(0) + j, k, width,
                                                out + row * l + j, columns, l);
      }
      row += is_four ? 4 : 1;
    }
  });
  return true;
}

Array as_f32(const Array& x) {
  Array y(x.shape(), DType::f32);
  cast(x, y);
  return y;
}

void multiply(const Array& a, const Array& b, bool transpose_a, bool transpose_b, const Array* bias,
              Array& c) {
  if (dnnl_matmul(a, b, transpose_a, transpose_b, bias, c)) return;
  if (a.dtype() == DType::bf16) {  // the same numbers as f32
    Array wide = c.dtype() == DType::f32 ? c : Array(c.shape(), DType::f32);
    multiply(as_f32(a), as_f32(b), transpose_a, transpose_b, bias, wide);
    if (c.dtype() != DType::f32) cast(wide, c);
    return;
  }
  const Array left = transpose_a ? with_last_axes_swapped(a) : a;
  const Array right = transpose_b ? with_last_axes_swapped(b) : b;
  if (a.dtype() == DType::f128 && wide_product(left, right, bias, c)) return;
  dispatch_floating("matmul", a.dtype(),
                    [&]<class T>(T) { matmul_loops<T>(left, right, bias, c); });
}

}  // namespace

void matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b, const Array* bias,
            Array& c) {
  record_product({.a = a.shape(),
                  .b = b.shape(),
                  .c = c.shape(),
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b,
                  .has_bias = bias != nullptr,
                  .operand_dtype = a.dtype(),
                  .result_dtype = c.dtype(),
                  .a_data = a.raw(),
                  .b_data = b.raw(),
                  .c_data = c.raw()});
  if (c.size() == 0) return;
  if (a.size() == 0) {  // sums of nothing
    if (!bias) return zero(c);
    Array start(bias->shape(), c.dtype());
    cast(*bias, start);
    return broadcast(start, c);
  }
  multiply(a, b, transpose_a, transpose_b, bias, c);
}

void leave_out_zeros(const Array& a, const Array& b, bool transpose_a, bool transpose_b, Array& c) {
  if (all_finite(c)) return;
  dispatch_floating("matmul", c.dtype(), [&]<class T>(T) {
    const int64_t m = c.shape()[1], l = c.shape()[2], k = a.shape()[transpose_a ? 1 : 2];
    const int64_t step_a = a.shape()[0] == 1 ? 0 : m * k, step_b = b.shape()[0] == 1 ? 0 : k * l;
    T* out = c.mutable_data<T>();
    for (int64_t at = 0; at < c.size(); ++at) {
      if (out[at] - out[at] == T(0)) continue;
      const int64_t n = at / (m * l), i = at / l % m, j = at % l;
      const T* left = a.data<T>() + n * step_a + i * (transpose_a ? 1 : k);
      const T* right = b.data<T>() + n * step_b + j * (transpose_b ? k : 1);
      out[at] = 0;
      for (int64_t t = 0; t < k; ++t) {
        const T x = left[t * (transpose_a ? m : 1)], y = right[t * (transpose_b ? 1 : l)];
        if (x != T(0) && y != T(0)) out[at] += x * y;
      }
    }
  });
}

}  // namespace qkv::kernels
