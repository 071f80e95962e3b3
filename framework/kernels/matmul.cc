#include "framework/kernels/matmul.h"

#include <algorithm>

#include "framework/kernels/copy.h"
#include "framework/kernels/dnnl.h"
#include "framework/kernels/elementwise.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_log.h"
#include "framework/kernels/wide_product.h"

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

Array as_f32(const Array& x) {
  Array y(x.shape(), DType::f32);
  cast(x, y);
  return y;
}

void multiply(const Array& a, const Array& b, bool transpose_a, bool transpose_b, const Array* bias,
              Array& c) {
  if (a.dtype() == DType::f32 || (a.dtype() == DType::bf16 && bf16_products_are_fast())) {
    if (dnnl_matmul(a, b, transpose_a, transpose_b, bias, c)) return;
  }
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

bool bf16_products_are_fast() {
  static const bool fast = dnnl_multiplies_bf16();
  return fast;
}

int64_t primitives_created() { return dnnl_primitives_created(); }

}  // namespace qkv::kernels
