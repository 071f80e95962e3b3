#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

struct Sizes {
  int64_t outer, n, inner;
};

std::vector<Sizes> sizes() {
  std::vector<Sizes> all = {{1, 1, 1},    {1, 100003, 1}, {768, 65, 1}, {1, 768, 128},
                            {2, 33, 300}, {1, 70, 2000},  {9, 100, 1},  {16, 1000, 2}};
  for (const Shape& shape : shapes(3, 7)) all.push_back({shape[0], shape[1], shape[2]});
  return all;
}

TEST(Reduce, SumIsWithinTheBoundOfItsLengthAndHasTheSameBits) {
  for (const Sizes& s : sizes()) {
    const Array wide = normal({s.outer, s.n, s.inner}, 1);
    const auto at = exact(wide);
    Expected expected;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        expected.push_back(sum(s.n, [&](int64_t k) { return at((o * s.n + k) * s.inner + j); }));
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = as(dtype, wide);
      const std::vector<Array> sums = same_bits_for_any_threads([&] {
        Array y({s.outer, s.inner}, dtype);
        sum(x, s.outer, s.n, s.inner, y);
        return std::vector{y};
      });
      EXPECT_EQ(outside(sums[0], expected), "") << x.describe();
    }
  }
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

TEST(Reduce, MaxIsTheFirstLargestWithTheSameBits) {
  for (const Sizes& s : sizes()) {
    if (s.n == 0) continue;  // no largest
    const Array wide = normal({s.outer, s.n, s.inner}, 1);
    const auto at = exact(wide);
    Expected values;
    std::vector<double> places;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        const auto element = [&](int64_t k) { return at((o * s.n + k) * s.inner + j).value; };
        int64_t best = 0;
        for (int64_t k = 1; k < s.n; ++k) best = element(k) > element(best) ? k : best;
        values.push_back(element(best));
        places.push_back(static_cast<double>(best));
      }
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = as(dtype, wide);
      const std::vector<Array> found = same_bits_for_any_threads([&] {
        Array y({s.outer, s.inner}, dtype), index({s.outer, s.inner}, DType::i64);
        max(x, s.outer, s.n, s.inner, y, index);
        return std::vector{y, index};
      });
      EXPECT_EQ(outside(found[0], values), "");
      EXPECT_EQ(found[1].to_vector(), places);
    }
  }
}

TEST(Reduce, MaxTakesTheFirstOfEqualsAndNaNBeforeAll) {
  const double x[] = {1, 3, 3, 2, 5, kNaN, kInf, kNaN, -kInf, -kInf, -kInf, -kInf};
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({3}, dtype), index({3}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 3, 4, 1, y, index);
    EXPECT_EQ(index.to_vector(), (std::vector<double>{1, 1, 0}));
    EXPECT_EQ(y.to_vector()[0], 3);
    EXPECT_TRUE(std::isnan(y.to_vector()[1]));
    EXPECT_EQ(y.to_vector()[2], -kInf);
    Array columns({4}, dtype), rows({4}, DType::i64);
    max(Array::of({3, 4}, dtype, x), 1, 3, 4, columns, rows);
    EXPECT_EQ(rows.to_vector(), (std::vector<double>{1, 1, 1, 1}));
  }
}

}  // namespace
}  // namespace qkv::kernels
