#include <algorithm>
#include <array>
#include <cstring>

#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kGrainBytes = 65536;  // bytes worth a piece

// A walk over the elements of a dense array in order, and beside it over another array whose
// element is `stride` further for each step along an axis (0 repeats it).
struct Walk {
  struct Axis {
    int64_t size, stride;
  };
  std::array<Axis, Shape::kMaxRank> axes{};
  int rank = 0;
  bool empty = false;

  // Adds an axis inside of those before, as part of the last one where the memory allows it.
  void add(int64_t size, int64_t stride) {
    if (size == 0) empty = true;
    if (size == 1) return;
    if (rank > 0 && axes[rank - 1].stride == stride * size) {
      axes[rank - 1] = {axes[rank - 1].size * size, stride};
    } else {
      axes[rank++] = {size, stride};
    }
  }
};

// Calls f(dense, strided, axis): an inner run, its place in both arrays, for every run.
template <class F>
void for_each_run(const Walk& walk, size_t element_bytes, F f) {
  if (walk.empty) return;
  const Walk::Axis run = walk.rank > 0 ? walk.axes[walk.rank - 1] : Walk::Axis{1, 1};
  const int outer_rank = std::max(walk.rank - 1, 0);
  int64_t runs = 1;
  for (int axis = 0; axis < outer_rank; ++axis) runs *= walk.axes[axis].size;
  const int64_t bytes = run.size * static_cast<int64_t>(element_bytes);
  if (runs == 1) {
    const int64_t grain = kGrainBytes / static_cast<int64_t>(element_bytes);
    parallel_for(run.size, grain, [&](int64_t begin, int64_t end) {
      f(begin, begin * run.stride, Walk::Axis{end - begin, run.stride});
    });
    return;
  }
  parallel_for(runs, std::max<int64_t>(1, kGrainBytes / bytes), [&](int64_t begin, int64_t end) {
    std::array<int64_t, Shape::kMaxRank> position{};
    int64_t strided = 0;
    int64_t rest = begin;
    for (int axis = outer_rank - 1; axis >= 0; --axis) {
      position[axis] = rest % walk.axes[axis].size;
      rest /= walk.axes[axis].size;
      strided += position[axis] * walk.axes[axis].stride;
    }
    for (int64_t r = begin; r < end; ++r) {
      f(r * run.size, strided, run);
      for (int axis = outer_rank - 1; axis >= 0; --axis) {
        strided += walk.axes[axis].stride;
        if (++position[axis] < walk.axes[axis].size) break;
        strided -= walk.axes[axis].size * walk.axes[axis].stride;
        position[axis] = 0;
      }
    }
  });
}

struct Swap {
  int64_t matrices = 0, rows = 0, columns = 0;
};

// The walk as a swap of the last two axes of a dense array, [matrices, columns, rows] to
// [matrices, rows, columns], if it is one; else rows is 0.
Swap as_swap(const Walk& walk) {
  if (walk.empty || walk.rank < 2 || walk.rank > 3) return {};
  const Walk::Axis row = walk.axes[walk.rank - 2], column = walk.axes[walk.rank - 1];
  if (row.stride != 1 || column.stride != row.size) return {};
  if (walk.rank == 2) return {1, row.size, column.size};
  const Walk::Axis matrix = walk.axes[0];
  if (matrix.stride != row.size * column.size) return {};
  return {matrix.size, row.size, column.size};
}

// Copies a dense y whose last two axes are those of x swapped, tile by tile, so that a cache line
// stays in the cache until it is read again. x [matrices, columns, rows], y [matrices, rows,
// columns]
template <class Word>
void swap_last_axes(const Word* x, int64_t matrices, int64_t rows, int64_t columns, Word* y) {
  constexpr int64_t kTile = 32;
  const int64_t bands = (rows + kTile - 1) / kTile;
  const int64_t band_bytes = kTile * columns * static_cast<int64_t>(sizeof(Word));
  parallel_for(matrices * bands,
               std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, band_bytes)),
               [=](int64_t begin, int64_t end) {
                 for (int64_t band = begin; band < end; ++band) {
                   const int64_t first = band % bands * kTile;
                   const int64_t last = std::min(first + kTile, rows);
                   const Word* from = x + band / bands * rows * columns;
                   Word* to = y + band / bands * rows * columns;
                   for (int64_t column = 0; column < columns; column += kTile) {
                     const int64_t stop = std::min(column + kTile, columns);
                     for (int64_t r = first; r < last; ++r) {
                       for (int64_t c = column; c < stop; ++c) {
                         to[r * columns + c] = from[c * rows + r];
                       }
                     }
                   }
                 }
               });
}

// Calls f with a number as wide as the elements.
template <class F>
void dispatch_width(DType dtype, F f) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    case 8:
      return f(uint64_t());
    default:
      return f(Float128());
  }
}

// y = the elements of x from `offset` on, in the order of the walk.
void read_strided(const Array& x, int64_t offset, const Walk& walk, Array& y) {
  dispatch_width(x.dtype(), [&]<class Word>(Word) {
    const Word* in = static_cast<const Word*>(x.raw()) + offset;
    Word* out = static_cast<Word*>(y.mutable_raw());
    if (const auto& [matrices, rows, columns] = as_swap(walk); rows > 0) {
      return swap_last_axes(in, matrices, rows, columns, out);
    }
    for_each_run(walk, sizeof(Word), [=](int64_t dense, int64_t strided, Walk::Axis run) {
      const Word* from = in + strided;
      Word* to = out + dense;
      if (run.stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(run.size) * sizeof(Word));
      } else if (run.stride == 0) {
        std::fill_n(to, run.size, *from);
      } else {
        for (int64_t i = 0; i < run.size; ++i) to[i] = from[i * run.stride];
      }
    });
  });
}

std::array<int64_t, Shape::kMaxRank> strides_of(const Shape& shape) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace

void permute(const Array& x, std::span<const int> axes, Array& y) {
  const auto strides = strides_of(x.shape());
  Walk walk;
  for (const int axis : axes) walk.add(x.shape()[axis], strides[x.shape().normalize(axis)]);
  read_strided(x, 0, walk, y);
}

void broadcast(const Array& x, Array& y) {
  const auto strides = strides_of(x.shape());
  const int missing = y.shape().rank() - x.shape().rank();
  Walk walk;
  for (int axis = 0; axis < y.shape().rank(); ++axis) {
    const int source = axis - missing;
    const bool repeated = source < 0 || (x.shape()[source] == 1 && y.shape()[axis] != 1);
    walk.add(y.shape()[axis], repeated ? 0 : strides[source]);
  }
  read_strided(x, 0, walk, y);
}

void slice(const Array& x, int axis, int64_t start, Array& y) {
  const auto strides = strides_of(x.shape());
  Walk walk;
  for (int a = 0; a < y.shape().rank(); ++a) walk.add(y.shape()[a], strides[a]);
  read_strided(x, start * strides[x.shape().normalize(axis)], walk, y);
}

void place(const Array& x, int axis, int64_t start, Array& y) {
  const auto strides = strides_of(y.shape());
  Walk walk;
  for (int a = 0; a < x.shape().rank(); ++a) walk.add(x.shape()[a], strides[a]);
  const int64_t offset = start * strides[y.shape().normalize(axis)];
  const size_t width = dtype_bytes(x.dtype());
  const std::byte* in = static_cast<const std::byte*>(x.raw());
  std::byte* out = static_cast<std::byte*>(y.mutable_raw()) + offset * width;
  for_each_run(walk, width, [=](int64_t dense, int64_t strided, Walk::Axis run) {
    // Everything inside of the axis is dense in both, so a run has stride 1 (or one element).
    for (int64_t i = 0; i < (run.stride == 1 ? 1 : run.size); ++i) {
      std::memcpy(out + (strided + i * run.stride) * width, in + (dense + i) * width,
                  (run.stride == 1 ? run.size : 1) * width);
    }
  });
}

void zero(Array& y) {
  std::byte* out = static_cast<std::byte*>(y.mutable_raw());
  parallel_for(static_cast<int64_t>(y.bytes()), 4 * kGrainBytes, [=](int64_t begin, int64_t end) {
    std::memset(out + begin, 0, static_cast<size_t>(end - begin));
  });
}

}  // namespace qkv::kernels
