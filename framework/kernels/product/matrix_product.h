#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "framework/core/dtype.h"

namespace qkv::kernels {

// A batch of matrices in memory. A transposed matrix has its strides exchanged. Element (n, i, j)
// stands at this offset:
//   n batch_stride + i row_stride + j column_stride
struct Matrices {
  DType dtype = DType::f32;
  int64_t batch = 1, rows = 1, columns = 1;
  int64_t batch_stride = 1, row_stride = 1, column_stride = 1;

  auto operator<=>(const Matrices&) const = default;

  int64_t extent() const {  // from the first element to behind the last
    return (batch - 1) * batch_stride + (rows - 1) * row_stride + (columns - 1) * column_stride + 1;
  }
};

// c = a b for each matrix of c, plus the one row of the bias. An operand with a batch of 1 serves
// them all.       a [N, M, K], b [N, K, L], c [N, M, L], bias [1, 1, L]
struct MatrixProduct {
  Matrices a, b, c;
  std::optional<Matrices> bias;

  auto operator<=>(const MatrixProduct&) const = default;
};

// Nobody ever steps along an axis of length 1, so that its stride may be any number, and one matrix
// can be described in many ways. This is the one that stands for all: the stride that the axis has
// in a dense row-major array or, where neighbours in a row stand apart, in a transposed one.
inline Matrices canonical(Matrices x) {
  if (x.columns == 1) x.column_stride = 1;
  if (x.rows == 1) x.row_stride = x.column_stride == 1 ? x.columns : 1;
  if (x.batch == 1) x.batch_stride = std::max(x.rows * x.row_stride, x.columns * x.column_stride);
  return x;
}

inline MatrixProduct canonical(MatrixProduct p) {
  for (Matrices* x : {&p.a, &p.b, &p.c}) *x = canonical(*x);
  if (p.bias) p.bias = canonical(*p.bias);
  return p;
}

// A product in pieces for threads to share. Each is a product itself, of parts of the matrices.
// They depend on the product alone, never on the number of threads.
struct Pieces {
  // The axis that is cut. depth: the sums, so that the results of the pieces are to be added.
  enum class Cut { batch, rows, columns, depth };

  Cut cut;
  int64_t size;    // of that axis
  int64_t length;  // of every piece but the last, which may be shorter

  int64_t count() const { return (size + length - 1) / length; }
};

// For a product of whole arrays, in its canonical form. No piece is a single row or column of a
// larger matrix.
Pieces cut(const MatrixProduct& whole);

struct Piece {
  MatrixProduct product;
  // Where its matrices begin, in elements from where those of the whole do. Pieces of the sum have
  // results of their own: c, as often as there are pieces.
  int64_t a = 0, b = 0, bias = 0, c = 0;
};

Piece piece_of(const MatrixProduct& whole, const Pieces& pieces, int64_t number);

}  // namespace qkv::kernels
