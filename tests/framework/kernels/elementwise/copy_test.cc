#include <numeric>

#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

constexpr DType kAllTypes[] = {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean};

// 0, 1, 2, … as far as the type goes
Array counting(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.size()));
  std::iota(values.begin(), values.end(), 0);
  return Array::of(shape, dtype, values);
}

int64_t element(const Shape& shape, const std::vector<int64_t>& at) {
  int64_t i = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    i = i * shape[axis] + at[static_cast<size_t>(axis)];
  return i;
}

void expect_permuted(const Array& x, std::vector<int> axes) {
  std::vector<int64_t> dims;
  for (const int axis : axes) dims.push_back(x.shape()[axis]);
  Array y(Shape(dims), x.dtype());
  permute(x, axes, y);
  const std::vector<double> from = x.to_vector(), to = y.to_vector();
  for (int64_t i = 0; i < y.size(); ++i) {
    const auto at = index_of(y.shape(), i);
    std::vector<int64_t> source(at.size());
    for (size_t k = 0; k < at.size(); ++k) source[static_cast<size_t>(axes[k])] = at[k];
    ASSERT_EQ(to[static_cast<size_t>(i)], from[static_cast<size_t>(element(x.shape(), source))])
        << x.describe() << " " << i;
  }
}

TEST(Copy, PermuteMovesAxes) {
  for (const DType dtype : kAllTypes) {
    std::vector<int> axes = {0, 1, 2, 3};
    do {
      expect_permuted(counting({3, 4, 2, 5}, dtype), axes);
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
  expect_permuted(counting({}, DType::f32), {});
  expect_permuted(counting({7}, DType::f32), {0});
  expect_permuted(counting({0, 3}, DType::f32), {1, 0});
  expect_permuted(counting({1, 5, 1}, DType::f32), {2, 1, 0});
  expect_permuted(counting({100, 131}, DType::f32), {1, 0});
  expect_permuted(counting({3, 65, 40}, DType::f32), {0, 2, 1});
  expect_permuted(counting({12, 64, 4, 32}, DType::f32), {0, 2, 1, 3});
  expect_permuted(counting({12, 64, 4, 32}, DType::f32), {0, 2, 3, 1});
  expect_permuted(counting({2, 3, 4, 5, 6}, DType::f32), {4, 2, 0, 1, 3});
}

TEST(Copy, BroadcastRepeats) {
  const std::pair<Shape, Shape> shapes[] = {
      {{}, {}},
      {{}, {3, 4}},
      {{1}, {5}},
      {{4}, {3, 4}},
      {{3, 1}, {3, 4}},
      {{3, 1, 2}, {3, 5, 2}},
      {{1, 4, 1}, {2, 4, 3}},
      {{5}, {0, 5}},
      {{512}, {300, 512}},
      {{300, 1}, {300, 512}},
      {{2, 1, 3, 1}, {7, 2, 4, 3, 5}},
      {{1, 1}, {200, 300}},
  };
  for (const DType dtype : kAllTypes) {
    for (const auto& [from, to] : shapes) {
      const Array x = counting(from, dtype);
      Array y(to, dtype);
      broadcast(x, y);
      const std::vector<double> source = x.to_vector(), target = y.to_vector();
      for (int64_t i = 0; i < y.size(); ++i) {
        auto at = index_of(to, i);
        at.erase(at.begin(), at.begin() + (to.rank() - from.rank()));
        for (int axis = 0; axis < from.rank(); ++axis) {
          if (from[axis] == 1) at[static_cast<size_t>(axis)] = 0;
        }
        ASSERT_EQ(target[static_cast<size_t>(i)], source[static_cast<size_t>(element(from, at))])
            << x.describe() << " to " << y.describe();
      }
    }
  }
}

TEST(Copy, SliceTakesAPartAndPlacePutsItBack) {
  for (const DType dtype : kAllTypes) {
    for (const int axis : {0, 1, 2}) {
      const Array x = counting({4, 5, 6}, dtype);
      for (const int64_t start : {0, 1, 3}) {
        const Shape part = x.shape().with(axis, x.shape()[axis] - start - 1);
        Array y(part, dtype);
        slice(x, axis, start, y);
        const std::vector<double> from = x.to_vector(), to = y.to_vector();
        for (int64_t i = 0; i < y.size(); ++i) {
          auto at = index_of(part, i);
          at[static_cast<size_t>(axis)] += start;
          ASSERT_EQ(to[static_cast<size_t>(i)], from[static_cast<size_t>(element(x.shape(), at))]);
        }
        Array z = Array::full(x.shape(), dtype, 1);
        place(y, axis, start, z);
        const std::vector<double> placed = z.to_vector();
        for (int64_t i = 0; i < z.size(); ++i) {
          const int64_t k = index_of(x.shape(), i)[static_cast<size_t>(axis)];
          const bool inside = k >= start && k < start + part[axis];
          ASSERT_EQ(placed[static_cast<size_t>(i)], inside ? from[static_cast<size_t>(i)] : 1);
        }
      }
    }
  }
}

TEST(Copy, SliceAndPlaceServeLargeArrays) {
  const Array x = counting({768, 384}, DType::f32);
  Array part({768, 128}, DType::f32), y = x.copy();
  slice(x, 1, 128, part);
  EXPECT_EQ(part.data<float>()[127], 255);
  EXPECT_EQ(part.data<float>()[128], 384 + 128);
  zero(y);
  for (const int64_t start : {0, 128, 256}) {
    slice(x, 1, start, part);
    place(part, 1, start, y);
  }
  EXPECT_TRUE(bits(x) == bits(y));
}

TEST(Copy, ZeroFills) {
  for (const DType dtype : kAllTypes) {
    for (const int64_t size : {0, 1, 77, 200000}) {
      Array y = Array::full({size}, dtype, 1);
      zero(y);
      EXPECT_EQ(y.to_vector(), std::vector<double>(static_cast<size_t>(size), 0));
    }
  }
}

Array indices(const Shape& shape, int64_t bound) {
  std::vector<int64_t> values;
  RandomStream stream(7);
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<int64_t>(stream.below(static_cast<uint64_t>(bound))));
  }
  return Array::of(shape, values);
}

TEST(Index, OutOfRangeIsTheFirstOutside) {
  EXPECT_EQ(out_of_range(Array::of({3}, std::vector<int64_t>{0, 4, 2}), 5), -1);
  EXPECT_EQ(out_of_range(Array::of({3}, std::vector<int64_t>{0, 5, -1}), 5), 1);
  EXPECT_EQ(out_of_range(Array::of({3}, std::vector<int64_t>{-1, 5, 0}), 5), 0);
  EXPECT_EQ(out_of_range(Array::of({0}, std::vector<int64_t>{}), 5), -1);
}

TEST(Index, RowsAreGatheredAndAddedBack) {
  for (const auto& [rows, width, count] :
       {std::tuple{1, 1, 1}, {65, 128, 768}, {7, 3, 100}, {10, 700, 500}, {5, 4, 0}}) {
    const Array table = normal({rows, width}, 1), dy = normal({count, width}, 2);
    const Array index = indices({count}, rows);
    Array expected = Array::full({rows, width}, DType::f64, 0);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        expected.mutable_data<double>()[index.data<int64_t>()[i] * width + c] +=
            dy.data<double>()[i * width + c];
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array t = as(dtype, table);
      Array y({count, width}, dtype), dtable = Array::full({rows, width}, dtype, 9);
      gather_rows(t, index, y);
      for (int64_t i = 0; i < y.size(); ++i) {
        const int64_t row = index.data<int64_t>()[i / width];
        ASSERT_EQ(y.to_vector()[static_cast<size_t>(i)],
                  table.data<double>()[row * width + i % width]);
        if (i > 200) break;
      }
      scatter_add_rows(as(dtype, dy), index, dtable);
      expect_close(dtable, expected, dtype == DType::f64 ? 1e-15 : 1e-6, 30);
    }
  }
}

TEST(Index, GatherPicksAlongAnAxisAndScatterAddsBack) {
  for (const auto& [outer, n, m, inner] :
       {std::tuple{1, 1, 1, 1}, {768, 65, 1, 1}, {3, 4, 6, 5}, {2, 9, 0, 3}, {50, 10, 20, 70}}) {
    const Array x = normal({outer, n, inner}, 1), dy = normal({outer, m, inner}, 2);
    const Array index = indices({outer, m, inner}, n);
    Array expected = Array::full({outer, n, inner}, DType::f64, 0);
    Array picked({outer, m, inner}, DType::f64);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < inner; ++j) {
          const int64_t at = (o * m + i) * inner + j;
          const int64_t from = (o * n + index.data<int64_t>()[at]) * inner + j;
          picked.mutable_data<double>()[at] = x.data<double>()[from];
          expected.mutable_data<double>()[from] += dy.data<double>()[at];
        }
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      Array y({outer, m, inner}, dtype), dx = Array::full({outer, n, inner}, dtype, 9);
      gather(as(dtype, x), index, outer, n, m, inner, y);
      expect_close(y, picked, 0);
      scatter_add(as(dtype, dy), index, outer, n, m, inner, dx);
      expect_close(dx, expected, dtype == DType::f64 ? 1e-15 : 1e-6);
    }
  }
}

TEST(Index, OneHotHasOneOneInARow) {
  const Array index = Array::of({4}, std::vector<int64_t>{2, 0, 1, 2});
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean}) {
    Array y = Array::full({4, 3}, dtype, 1);
    one_hot(index, 3, y);
    EXPECT_EQ(y.to_vector(), (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}));
  }
}

TEST(Index, HasTheSameBitsForAnyThreads) {
  const Array table = as(DType::f32, normal({65, 300}, 1));
  const Array dy = as(DType::f32, normal({2000, 300}, 2));
  const Array index = indices({2000}, 65);
  same_bits_for_any_threads([&] {
    Array y({2000, 300}, DType::f32), dtable({65, 300}, DType::f32);
    gather_rows(table, index, y);
    scatter_add_rows(dy, index, dtable);
    return std::vector<Array>{y, dtable};
  });
}

}  // namespace
}  // namespace qkv::kernels
