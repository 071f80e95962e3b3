#include <algorithm>
#include <type_traits>

#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kBlock = 1024;    // elements summed in T before they join a sum in f64
constexpr int64_t kBlockRows = 32;  // the same for sums down columns
constexpr int64_t kColumns = 128;   // columns summed side by side

template <class X>
ScalarOf<X> sum_contiguous(const X* x, int64_t n) {
  ScalarOf<X> total = 0;
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t count = std::min(kBlock, n - start);
    if constexpr (std::is_same_v<X, BFloat16>) {
      float block[kBlock];
      std::transform(x + start, x + start + count, block, convert<float, X>);
      total += sum_of(block, count);
    } else {
      total += sum_of(x + start, count);
    }
  }
  return total;
}

// total[j] = sum of x[k * stride + j] over k < n, for j < width <= kColumns
template <class X>
void sum_columns(const X* x, int64_t n, int64_t stride, int64_t width, ScalarOf<X>* total) {
  using T = Computed<X>;
  std::fill_n(total, width, ScalarOf<X>(0));
  T block[kColumns];
  for (int64_t start = 0; start < n; start += kBlockRows) {
    const int64_t stop = std::min(start + kBlockRows, n);
    std::fill_n(block, width, T(0));
    for (int64_t k = start; k < stop; ++k) {
      const X* row = x + k * stride;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) block[j] += convert<T>(row[j]);
    }
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) total[j] += block[j];
  }
}

template <class X, class T>
void sum_along(const X* x, int64_t outer, int64_t n, int64_t inner, T* y) {
  using Sum = ScalarOf<X>;
  if (inner == 1 && outer == 1) {
    *y = static_cast<T>(parallel_sum<Sum>(n, kGrain, [=](int64_t begin, int64_t end) {
      return sum_contiguous(x + begin, end - begin);
    }));
  } else if (inner == 1) {
    parallel_for(outer, piece_rows(n, kGrainOf<X>), [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) y[o] = static_cast<T>(sum_contiguous(x + o * n, n));
    });
  } else {
    // Work is shared by pieces of n as well, where there are too few columns for it.
    const int64_t chunks = (inner + kColumns - 1) / kColumns;
    const int64_t pieces = outer * chunks >= 8 || n == 0 ? 1 : num_pieces(n, piece_rows(inner));
    Array partial(Shape{pieces, outer * inner}, dtype_of<Sum>);
    Sum* sums = partial.mutable_data<Sum>();
    const int64_t units = pieces * outer * chunks;
    parallel_for(units, piece_rows(n * inner / (pieces * chunks)), [=](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t column = unit % chunks * kColumns;
        const int64_t o = unit / chunks % outer;
        const int64_t piece = unit / chunks / outer;
        const int64_t first = n * piece / pieces;
        const int64_t last = n * (piece + 1) / pieces;
        sum_columns(x + (o * n + first) * inner + column, last - first, inner,
                    std::min(kColumns, inner - column),
                    sums + (piece * outer + o) * inner + column);
      }
    });
    parallel_for(outer * inner, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Sum total = 0;
        for (int64_t piece = 0; piece < pieces; ++piece) total += sums[piece * outer * inner + i];
        y[i] = static_cast<T>(total);
      }
    });
  }
}

// Where the largest of x[0 … n - 1] first stands; a NaN is the largest.
template <class T>
int64_t first_largest(const T* x, int64_t n) {
  const T* nan = std::find_if(x, x + n, [](T v) { return v != v; });
  return (nan != x + n ? nan : std::find(x, x + n, largest_of(x, n))) - x;
}

template <class T>
void max_of(const T* x, int64_t outer, int64_t n, int64_t inner, T* y, int64_t* index) {
  parallel_for(outer, piece_rows(n * inner), [=](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* block = x + o * n * inner;
      T* best = y + o * inner;
      int64_t* where = index + o * inner;
      if (inner == 1) {
        *where = first_largest(block, n);
        *best = block[*where];
        continue;
      }
      std::copy_n(block, inner, best);
      std::fill_n(where, inner, 0);
      for (int64_t k = 1; k < n; ++k) {
        const T* row = block + k * inner;
#pragma omp simd
        for (int64_t j = 0; j < inner; ++j) {
          const T value = row[j], before = best[j];
          const bool larger = value > before || (value != value && before == before);
          best[j] = larger ? value : before;
          where[j] = larger ? k : where[j];
        }
      }
    }
  });
}

}  // namespace

void sum(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y) {
  if (outer * inner == 0) return;
  dispatch_stored("sum", x.dtype(), [&]<class X>(X) {
    sum_along(x.data<X>(), outer, n, inner, y.mutable_data<Computed<X>>());
  });
}

void max(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y, Array& index) {
  if (outer * inner == 0) return;
  dispatch_floating("max", x.dtype(), [&]<class T>(T) {
    max_of(x.data<T>(), outer, n, inner, y.mutable_data<T>(), index.mutable_data<int64_t>());
  });
}

}  // namespace qkv::kernels
