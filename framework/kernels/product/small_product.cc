#include "framework/kernels/product/small_product.h"

#include "framework/kernels/elementwise/vector.h"

namespace qkv::kernels {
namespace {

// kRows rows and kVectors vectors of columns of c = [c +] a b, which stay in registers until their
// sums are complete.
template <class T, int kRows, int kVectors>
void product_tile(Strided<T> a, const T* b, int64_t b_row, int64_t depth, bool add, T* c,
                  int64_t c_row) {
  constexpr int64_t kLength = kVectorLength<T>;
  Vector<T> sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = add ? vector_at(c + i * c_row + v * kLength) : Vector<T>{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vector<T> right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      right[v] = vector_at(b + k * b_row + v * kLength);
    }
    const T* left = a.data + k * a.column;
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] += left[i * a.row] * right[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      vector_at(c + i * c_row + v * kLength) = sums[i][v];
    }
  }
}

template <class T, int kVectors>
void product_columns(int64_t rows, Strided<T> a, const T* b, int64_t b_row, int64_t depth, bool add,
                     T* c, int64_t c_row) {
  int64_t i = 0;
  const auto tiles = [&]<int kRows>() {
    for (; i + kRows <= rows; i += kRows) {
      product_tile<T, kRows, kVectors>({a.data + i * a.row, a.row, a.column}, b, b_row, depth, add,
                                       c + i * c_row, c_row);
    }
  };
  tiles.template operator()<8>();
  tiles.template operator()<4>();
  tiles.template operator()<1>();
}

}  // namespace

template <class T>
void small_product(int64_t rows, int64_t columns, int64_t depth, Strided<T> a, const T* b,
                   int64_t b_row, bool add, T* c, int64_t c_row) {
  constexpr int64_t kLength = kVectorLength<T>;
  int64_t j = 0;
  for (; j + 3 * kLength <= columns && j + 4 * kLength != columns; j += 3 * kLength) {
    product_columns<T, 3>(rows, a, b + j, b_row, depth, add, c + j, c_row);
  }
  for (; j + 2 * kLength <= columns; j += 2 * kLength) {
    product_columns<T, 2>(rows, a, b + j, b_row, depth, add, c + j, c_row);
  }
  for (; j + kLength <= columns; j += kLength) {
    product_columns<T, 1>(rows, a, b + j, b_row, depth, add, c + j, c_row);
  }
}

template void small_product(int64_t, int64_t, int64_t, Strided<float>, const float*, int64_t, bool,
                            float*, int64_t);
template void small_product(int64_t, int64_t, int64_t, Strided<double>, const double*, int64_t,
                            bool, double*, int64_t);
template void small_product(int64_t, int64_t, int64_t, Strided<Float128>, const Float128*, int64_t,
                            bool, Float128*, int64_t);

}  // namespace qkv::kernels
