#pragma once

#include "framework/kernels/matrices.h"

namespace qkv::kernels {

// A product in pieces for threads to share. Each is a product itself, of parts of the matrices.
// They depend on the product alone, never on the number of threads.
struct Pieces {
  // What is cut. depth: the sums, so that the results of the pieces are to be added.
  enum class Cut { batch, rows, columns, depth };

  Cut cut;
  int64_t size;    // of what is cut
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
