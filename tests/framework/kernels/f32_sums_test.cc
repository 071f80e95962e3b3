// Kernels in f32 that add up many numbers, against their formulas.

#include <gtest/gtest.h>

#include <vector>

#include "framework/kernels/index.h"
#include "framework/kernels/matmul.h"
#include "framework/kernels/reduce.h"
#include "tests/framework/kernels/f32.h"

namespace qkv::kernels {
namespace {

TEST(F32, SumsAreWithinTheBoundOfTheirLength) {
  for (const Shape& shape : shapes(3, 7)) {
    const int64_t outer = shape[0], n = shape[1], inner = shape[2];
    const Array x = f32(shape, 8);
    Array y = empty_f32({outer, inner});
    sum(x, outer, n, inner, y);
    const float* in = x.data<float>();
    Expected expected;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t j = 0; j < inner; ++j) {
        expected.push_back(sum(n, [&](int64_t k) { return Rounded(in[(o * n + k) * inner + j]); }));
      }
    }
    EXPECT_EQ(outside(y, expected), 0) << shape.to_string();
  }
  const Array x = f32({70001}, 9);
  Array y = empty_f32({});
  sum(x, 1, 70001, 1, y);
  EXPECT_EQ(outside(y, {sum(70001, [&](int64_t k) { return Rounded(x.data<float>()[k]); })}), 0);
}

TEST(F32, MatrixProductsAreWithinTheBoundOfTheirLength) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      std::vector<Shape> all = shapes(3, ta ? 10 : 11);  // M, K, N
      all.resize(12);
      all.insert(all.end(), {{130, 67, 129}, {1, 1000, 3}, {200, 1, 7}, {3, 0, 5}});
      for (const Shape& shape : all) {
        const int64_t m = shape[0], k = shape[1], n = shape[2];
        const Array a = f32(ta ? Shape{2, k, m} : Shape{2, m, k}, 12);
        const Array b = f32(tb ? Shape{2, n, k} : Shape{2, k, n}, 13), bias = f32({n}, 14);
        Array c = empty_f32({2, m, n});
        matmul(a, b, ta, tb, &bias, c);
        const auto left = [&](int64_t batch, int64_t i, int64_t l) {
          return Rounded(a.data<float>()[batch * m * k + (ta ? l * m + i : i * k + l)]);
        };
        const auto right = [&](int64_t batch, int64_t l, int64_t j) {
          return Rounded(b.data<float>()[batch * k * n + (tb ? j * k + l : l * n + j)]);
        };
        Expected expected;
        for (int64_t batch = 0; batch < 2; ++batch) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              expected.push_back(sum(k + 1, [&](int64_t l) {
                return l == k ? Rounded(bias.data<float>()[j])
                              : left(batch, i, l) * right(batch, l, j);
              }));
            }
          }
        }
        EXPECT_EQ(outside(c, expected), 0) << shape.to_string() << ta << tb;
      }
    }
  }
}

TEST(F32, ScattersAreWithinTheBoundOfWhatMeets) {
  for (const Shape& shape : shapes(2, 26)) {
    const int64_t count = shape[0], width = shape[1], rows = 11;
    const Array dy = f32(shape, 27);
    RandomStream stream(28);
    std::vector<int64_t> index;
    for (int64_t i = 0; i < count; ++i) index.push_back(static_cast<int64_t>(stream.below(rows)));
    Array table = empty_f32({rows, width});
    scatter_add_rows(dy, Array::of({count}, index), table);
    Expected expected;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> meet;
      for (int64_t i = 0; i < count; ++i) {
        if (index[static_cast<size_t>(i)] == row) meet.push_back(i);
      }
      for (int64_t c = 0; c < width; ++c) {
        expected.push_back(sum(std::ssize(meet), [&](int64_t k) {
          return Rounded(dy.data<float>()[meet[static_cast<size_t>(k)] * width + c]);
        }));
      }
    }
    EXPECT_EQ(outside(table, expected), 0) << shape.to_string();
  }
}

TEST(F32, ATermThatIsLeftOutIsOutside) {
  for (const int64_t n : {2, 17, 130, 3001}) {
    const Array x = positive(f32({n}, 32));
    const auto sum_of = [&](int64_t count) {
      return sum(count, [&](int64_t i) { return Rounded(x.data<float>()[i]); });
    };
    Array y = empty_f32({1});
    sum(x, 1, n, 1, y);
    EXPECT_EQ(outside_quietly(y, {sum_of(n)}), 0);
    EXPECT_EQ(outside_quietly(y, {sum_of(n - 1)}), 1) << n;
  }
}

}  // namespace
}  // namespace qkv::kernels
