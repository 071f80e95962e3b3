#include "framework/kernels/product/matrix_product.h"

#include <algorithm>
#include <bit>

// The constants below were measured against others, with 2 threads on a processor with AVX-512 and
// AMX, on the products of a step of the bench shapes toy, small and mini. y and dx are x by a
// weight, dW is by a transposed a. Below 0.03 is noise.

namespace qkv::kernels {
namespace {

// Into how many pieces `flops` operations are cut, at most `max_count` of them.
int64_t count_for(int64_t flops, int64_t max_count) {
  // Worth a piece: 10 to 20 microseconds. 1, 2 and 8 million are as fast; with 16 toy takes 1.17.
  constexpr int64_t kFlops = 4'000'000;
  const int64_t wanted = std::clamp<int64_t>(flops / kFlops, 1, std::max<int64_t>(max_count, 1));
  // A power of two shares evenly among 2, 4, 8, … threads.
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
}

int64_t divided_up(int64_t size, int64_t by) { return (size + by - 1) / by; }

// The length of about `count` pieces, a multiple of 16.
int64_t length_for(int64_t size, int64_t count) {
  return divided_up(divided_up(size, count), 16) * 16;
}

}  // namespace

Pieces cut(const MatrixProduct& p) {
  using Cut = Pieces::Cut;
  const int64_t batch = p.c.batch, m = p.c.rows, k = p.a.columns, l = p.c.columns;
  // To read b takes as long as some 32 rows of products by it. Without that, one row by mini's
  // feed-forward matrix takes 2.2 in f32, 1.8 in bf16; with 128 nothing changes.
  const int64_t flops = 2 * batch * std::max<int64_t>(m, 32) * k * l;
  if (batch >= 8 || batch > m) return {Cut::batch, batch, divided_up(batch, count_for(flops, 16))};
  const bool transposed_a = p.a.row_stride == 1;
  // oneDNN rearranges both operands when a is transposed. Pieces of the sum share nothing, so that
  // each is rearranged once; that pays where the sum is long and the results to add are small:
  // toy's dW in bf16 takes 1.24 without.
  if (p.a.dtype == DType::bf16 && transposed_a && m * l <= 16384 && k >= 1024 && batch == 1 &&
      !p.bias && p.c.dtype == DType::f32) {
    return {Cut::depth, k, length_for(k, count_for(flops, std::min<int64_t>(k / 512, 8)))};
  }
  // oneDNN 3.12 is wrong where each of several b is one row of a wider matrix.
  const bool by_rows = m >= l || (k == 1 && batch > 1);
  const int64_t size = by_rows ? m : l;
  // Each piece reads the other matrix whole, and rearranges it: not too many. With 16 for 8, y and
  // dx take 1.04 (toy), 1.15 (small, bf16) and 1.03 (mini); 4 are up to 0.84 with two threads, and
  // leave nothing for more. With a transposed a it costs most: with 8 at any size toy's dW takes
  // 1.06, small's in bf16 1.24; with 2 at any size that is 1.21.
  const int64_t few = transposed_a ? std::clamp<int64_t>(size / 128, 2, 8) : 8;
  // No piece is less than 32 long: with 128, dW of toy and small takes 1.1 in f32, though 0.87 of
  // small and mini in bf16. None is so long that the cache does not hold it: without that limit dW
  // of mini takes 1.16 in bf16; with 64 for 256 toy's 1.02 to mini's 1.25.
  const int64_t max_count = std::max(std::min(few, size / 32), size / 256);
  int64_t length = length_for(size, count_for(flops, max_count));
  // 3.7 is wrong where a is one row of a wider transposed matrix, and where c is one column.
  while (length < size && size % length == 1) length += 16;
  return {by_rows ? Cut::rows : Cut::columns, size, length};
}

Piece piece_of(const MatrixProduct& whole, const Pieces& pieces, int64_t number) {
  const int64_t start = number * pieces.length;
  const int64_t length = std::min(pieces.length, pieces.size - start);
  Piece piece = {.product = whole};
  MatrixProduct& p = piece.product;
  switch (pieces.cut) {
    case Pieces::Cut::batch:
      piece.a = p.a.batch > 1 ? start * p.a.batch_stride : 0;
      piece.b = p.b.batch > 1 ? start * p.b.batch_stride : 0;
      piece.c = start * p.c.batch_stride;
      for (Matrices* x : {&p.a, &p.b, &p.c}) x->batch = std::min(x->batch, length);
      break;
    case Pieces::Cut::rows:
      piece.a = start * p.a.row_stride;
      piece.c = start * p.c.row_stride;
      p.a.rows = p.c.rows = length;
      break;
    case Pieces::Cut::columns:
      piece.b = start * p.b.column_stride;
      piece.c = start * p.c.column_stride;
      piece.bias = start;
      p.b.columns = p.c.columns = length;
      if (p.bias) p.bias->columns = length;
      break;
    case Pieces::Cut::depth:
      piece.a = start * p.a.column_stride;
      piece.b = start * p.b.row_stride;
      piece.c = number * p.c.rows * p.c.columns;
      p.a.columns = p.b.rows = length;
      break;
  }
  return piece;
}

}  // namespace qkv::kernels
