#pragma once

#include <cstdint>

namespace qkv::kernels {

// Element (i, j) stands at data[i row + j column].
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
};

// A product of matrices that fit in a cache, of any type but bf16, on one thread, for kernels that
// need the result at once.
//   c = a b, or c + a b       a [rows, depth], b [depth, columns], c [rows, columns]
// The columns are whole vectors, the rows of b and c are dense.
template <class T>
void small_product(int64_t rows, int64_t columns, int64_t depth, Strided<T> a, const T* b,
                   int64_t b_row, bool add, T* c, int64_t c_row);

}  // namespace qkv::kernels
