#pragma once

#include <cstdint>
#include <utility>

// Products of matrices that fit in a cache, on one thread, for kernels that need the result at
// once. A processor register holds a vector of numbers; a tile of the result stays in registers
// until its sums are complete.
namespace qkv::kernels {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  // Read and written at any address of a T.
  using Type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias)) = T;
  static constexpr int64_t kLength = kVectorBytes / static_cast<int64_t>(sizeof(T));
};

// One of log2(n) steps of transpose: swaps b's places without the bit kStep and a's with it.
template <int kStep, class Vector, int... kPlace>
inline void exchange(Vector& a, Vector& b, std::integer_sequence<int, kPlace...>) {
  constexpr int n = sizeof...(kPlace);
  const Vector low =
      __builtin_shufflevector(a, b, ((kPlace & kStep) ? n + kPlace - kStep : kPlace)...);
  b = __builtin_shufflevector(a, b, ((kPlace & kStep) ? n + kPlace : kPlace + kStep)...);
  a = low;
}

// x[i][j] <-> x[j][i] for a square of n vectors of n numbers, n a power of two.
template <int kStep, int n, class Vector>
inline void transpose(Vector (&x)[n]) {
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if ((i & kStep) == 0) exchange<kStep>(x[i], x[i + kStep], std::make_integer_sequence<int, n>());
  }
  if constexpr (kStep > 1) transpose<kStep / 2>(x);
}

// n rounded up to whole vectors.
template <class T>
constexpr int64_t whole_vectors(int64_t n) {
  return (n + VectorOf<T>::kLength - 1) / VectorOf<T>::kLength * VectorOf<T>::kLength;
}

// Element (i, j) stands at data[i row + j column].
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
};

// kRows rows and kVectors vectors of columns of c = [c +] a b.
template <class T, int kRows, int kVectors>
inline void product_tile(Strided<T> a, const T* b, int64_t b_row, int64_t depth, bool add, T* c,
                         int64_t c_row) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int64_t kLength = VectorOf<T>::kLength;
  Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = add ? *reinterpret_cast<const Vector*>(c + i * c_row + v * kLength) : Vector{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      right[v] = *reinterpret_cast<const Vector*>(b + k * b_row + v * kLength);
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
      *reinterpret_cast<Vector*>(c + i * c_row + v * kLength) = sums[i][v];
    }
  }
}

template <class T, int kVectors>
inline void product_columns(int64_t rows, Strided<T> a, const T* b, int64_t b_row, int64_t depth,
                            bool add, T* c, int64_t c_row) {
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

// c = a b, or c + a b.      a [rows, depth], b [depth, columns], c [rows, columns]
// The columns are whole vectors, the rows of b and c are dense.
template <class T>
void small_product(int64_t rows, int64_t columns, int64_t depth, Strided<T> a, const T* b,
                   int64_t b_row, bool add, T* c, int64_t c_row) {
  constexpr int64_t kLength = VectorOf<T>::kLength;
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

}  // namespace qkv::kernels
