#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

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
