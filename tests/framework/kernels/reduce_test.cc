#include "framework/kernels/reduce.h"

#include <cmath>
#include <limits>

#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

struct Sizes {
  int64_t outer, n, inner;
};

const Sizes kSizes[] = {{1, 1, 1},    {1, 100003, 1}, {3, 5, 7},     {768, 65, 1}, {1, 768, 128},
                        {2, 33, 300}, {4, 1, 9},      {1, 5000, 3},  {9, 100, 1},  {1, 70, 2000},
                        {0, 3, 2},    {2, 3, 0},      {16, 1000, 2}, {5, 31, 1}};

TEST(Reduce, SumIsTheSum) {
  for (const auto& [outer, n, inner] : kSizes) {
    const Array x = normal({outer, n, inner}, 1);
    std::vector<double> expected(static_cast<size_t>(outer * inner), 0);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < n; ++k) {
        for (int64_t j = 0; j < inner; ++j) {
          expected[static_cast<size_t>(o * inner + j)] += x.data<double>()[(o * n + k) * inner + j];
        }
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      Array y({outer, inner}, dtype);
      sum(as(dtype, x), outer, n, inner, y);
      expect_close(y, Array::of({outer, inner}, DType::f64, expected),
                   dtype == DType::f64 ? 1e-12 : 1e-6, std::sqrt(static_cast<double>(n)));
    }
  }
}

TEST(Reduce, SumOfNothingIsZero) {
  Array y = Array::full({2, 3}, DType::f32, 7);
  sum(Array({2, 0, 3}, DType::f32), 2, 0, 3, y);
  EXPECT_EQ(y.to_vector(), std::vector<double>(6, 0));
  Array scalar = Array::full({1}, DType::f32, 7);
  sum(Array({0}, DType::f32), 1, 0, 1, scalar);
  EXPECT_EQ(scalar.to_vector(), std::vector<double>(1, 0));
}

// One added to 2^24 in f32 is lost; a plain loop would stop there.
TEST(Reduce, LongSumsInF32KeepTheirAccuracy) {
  constexpr int64_t kCount = 20'000'000;
  const Array ones = Array::full({kCount}, DType::f32, 1);
  Array y({1}, DType::f32);
  sum(ones, 1, kCount, 1, y);
  EXPECT_EQ(y.to_vector()[0], kCount);
  Array columns({2}, DType::f32);
  sum(ones, 1, kCount / 2, 2, columns);
  EXPECT_EQ(columns.to_vector()[0], kCount / 2);
}

TEST(Reduce, MaxIsTheFirstLargest) {
  for (const auto& [outer, n, inner] : kSizes) {
    const Array x = normal({outer, n, inner}, 1);
    for (const DType dtype : {DType::f64, DType::f32}) {
      Array y({outer, inner}, dtype), index({outer, inner}, DType::i64);
      max(as(dtype, x), outer, n, inner, y, index);
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < inner; ++j) {
          int64_t best = 0;
          const auto at = [&, o = o, n = n, inner = inner](int64_t k) {
            return x.data<double>()[(o * n + k) * inner + j];
          };
          for (int64_t k = 1; k < n; ++k) best = at(k) > at(best) ? k : best;
          ASSERT_EQ(index.data<int64_t>()[o * inner + j], best);
          ASSERT_EQ(y.to_vector()[static_cast<size_t>(o * inner + j)], at(best));
        }
      }
    }
  }
}

TEST(Reduce, MaxTakesTheFirstOfEqualsAndNaNBeforeAll) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const double x[] = {1, 3, 3, 2, 5, nan, inf, nan, -inf, -inf, -inf, -inf};
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({3}, dtype), index({3}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 3, 4, 1, y, index);
    EXPECT_EQ(index.to_vector(), (std::vector<double>{1, 1, 0}));
    EXPECT_EQ(y.to_vector()[0], 3);
    EXPECT_TRUE(std::isnan(y.to_vector()[1]));
    EXPECT_EQ(y.to_vector()[2], -inf);
    Array columns({4}, dtype), rows({4}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 1, 3, 4, columns, rows);
    EXPECT_EQ(rows.to_vector(), (std::vector<double>{1, 1, 1, 1}));
  }
}

TEST(Reduce, HasTheSameBitsForAnyThreads) {
  for (const auto& [outer, n, inner] : kSizes) {
    const Array x = as(DType::f32, normal({outer, n, inner}, 1));
    expect_same_bits_for_any_threads([&, outer = outer, n = n, inner = inner] {
      Array y({outer, inner}, DType::f32), largest({outer, inner}, DType::f32);
      Array index({outer, inner}, DType::i64);
      sum(x, outer, n, inner, y);
      max(x, outer, n, inner, largest, index);
      return std::vector<Array>{y, largest, index};
    });
  }
}

}  // namespace
}  // namespace qkv::kernels
