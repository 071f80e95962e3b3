#include "framework/kernels/product/matmul.h"

#include <algorithm>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

struct Case {
  int64_t batch_a, batch_b, m, k, l;
  bool transpose_a, transpose_b, has_bias;
};

Shape left(const Case& p) {
  return p.transpose_a ? Shape{p.batch_a, p.k, p.m} : Shape{p.batch_a, p.m, p.k};
}
Shape right(const Case& p) {
  return p.transpose_b ? Shape{p.batch_b, p.l, p.k} : Shape{p.batch_b, p.k, p.l};
}

// The definition, element by element.
Expected defined(const Case& p, const Array& a, const Array& b, const Array& bias) {
  const auto x = exact(a), y = exact(b), start = exact(bias);
  Expected c;
  for (int64_t n = 0; n < std::max(p.batch_a, p.batch_b); ++n) {
    const int64_t first_a = (p.batch_a == 1 ? 0 : n) * p.m * p.k;
    const int64_t first_b = (p.batch_b == 1 ? 0 : n) * p.k * p.l;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.l; ++j) {
        c.push_back(sum(p.k + 1, [&](int64_t k) {
          if (k == p.k) return p.has_bias ? start(j) : Rounded(0);
          return x(first_a + (p.transpose_a ? k * p.m + i : i * p.k + k)) *
                 y(first_b + (p.transpose_b ? j * p.k + k : k * p.l + j));
        }));
      }
    }
  }
  return c;
}

// A result of bf16 has 8 bits.
Expected in_bf16(Expected c) {
  for (Rounded& x : c) x = rounded(x.value, x.error, 0x1p-8);
  return c;
}

// Sizes m, k, l: every combination of axes of length 1, and such as are no multiple of anything.
// Sums of 63 terms are what some versions of oneDNN end the program on.
std::vector<Shape> product_sizes() {
  std::vector<Shape> result = {{5, 7, 3},    {64, 32, 48}, {70, 65, 130},
                               {257, 40, 9}, {1, 1000, 3}, {130, 63, 1},
                               {4, 0, 3},    {0, 2, 3},    {3, 2, 0}};
  for (const int64_t m : {1, 9, 33}) {
    for (const int64_t k : {1, 9, 34}) {
      for (const int64_t l : {1, 2, 17}) result.push_back({m, k, l});
    }
  }
  return result;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& [batch_a, batch_b] : {std::pair{1, 1}, {3, 3}, {3, 1}, {1, 3}}) {
    for (const Shape& s : product_sizes()) {
      for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7}) {
        result.push_back({batch_a, batch_b, s[0], s[1], s[2], (flags & 1) != 0, (flags & 2) != 0,
                          (flags & 4) != 0});
      }
    }
  }
  return result;
}

TEST(Matmul, IsItsDefinitionInEveryTypeForEveryFlag) {
  for (const Case& p : cases()) {
    SCOPED_TRACE(left(p).to_string() + (p.transpose_a ? " transposed by " : " by ") +
                 right(p).to_string() + (p.transpose_b ? " transposed" : ""));
    const Array a = normal(left(p), 1), b = normal(right(p), 2), bias = normal(Shape{p.l}, 3);
    const auto product = [&](DType operands, DType sums) {
      const Array bias_as = as(sums == DType::bf16 ? DType::f32 : sums, bias);
      Array c(Shape{std::max(p.batch_a, p.batch_b), p.m, p.l}, sums);
      matmul(as(operands, a), as(operands, b), p.transpose_a, p.transpose_b,
             p.has_bias ? &bias_as : nullptr, c);
      return c;
    };
    const Expected expected = defined(p, a, b, bias);
    EXPECT_EQ(outside(product(DType::f64, DType::f64), expected), "");
    EXPECT_EQ(outside(product(DType::f32, DType::f32), expected), "");
    // bf16 operands: the products are exact in f32, so only the operands' rounding is to be seen.
    const Expected narrow = defined(p, as(DType::bf16, a), as(DType::bf16, b), bias);
    EXPECT_EQ(outside(product(DType::bf16, DType::f32), narrow), "");
    EXPECT_EQ(outside(product(DType::bf16, DType::bf16), in_bf16(narrow)), "");
  }
}

TEST(LibraryProduct, IsItsDefinition) {
  for (const Shape& s : {Shape{64, 32, 48}, Shape{257, 40, 9}, Shape{3, 0, 2}}) {
    for (const auto& [batch_a, batch_b] : {std::pair{1, 1}, {3, 3}, {3, 1}}) {
      for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const Case p = {batch_a,          batch_b,         s[0], s[1], s[2], (flags & 1) != 0,
                        (flags & 2) != 0, (flags & 4) != 0};
        const Array a = normal(left(p), 1), b = normal(right(p), 2), bias = normal({p.l}, 3);
        for (const DType type : {DType::f64, DType::f32, DType::bf16}) {
          const DType sums = type == DType::bf16 ? DType::f32 : type;
          const Array x = as(type, a), y = as(type, b), start = as(sums, bias);
          Array c({batch_a, p.m, p.l}, sums);
          const auto multiply =
              library_product(x, y, p.transpose_a, p.transpose_b, p.has_bias ? &start : nullptr, c);
          for (int call = 0; call < 2; ++call) multiply();
          const Expected expected = defined(p, as(DType::f64, x), as(DType::f64, y), bias);
          EXPECT_EQ(outside(c, expected), "") << left(p).to_string() << flags << dtype_name(type);
        }
      }
    }
  }
}

// The definition, with Float128's own additions and multiplications.
Array defined_in_f128(const Array& a, const Array& b, const Array* bias) {
  const int64_t m = a.shape()[1], k = a.shape()[2], l = b.shape()[2];
  Array c({a.shape()[0], m, l}, DType::f128);
  for (int64_t n = 0; n < a.shape()[0]; ++n) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < l; ++j) {
        Float128 sum = bias ? bias->data<Float128>()[j] : 0;
        for (int64_t t = 0; t < k; ++t) {
          sum += a.data<Float128>()[(n * m + i) * k + t] *
                 b.data<Float128>()[(b.shape()[0] == 1 ? 0 : n) * k * l + t * l + j];
        }
        c.mutable_data<Float128>()[(n * m + i) * l + j] = sum;
      }
    }
  }
  return c;
}

// Numbers of 113 bits, of both signs, with zeros among them.
Array wide_numbers(const Shape& shape, uint64_t seed, Float128 size) {
  Array x(shape, DType::f128);
  RandomStream random(seed);
  for (int64_t i = 0; i < x.size(); ++i) {
    const Float128 number = random.normal() + 0x1p-53 * Float128(random.normal()) / 3;
    x.mutable_data<Float128>()[i] = random.uniform() < 0.1 ? 0 : size * number;
  }
  return x;
}

TEST(Matmul, IsItsDefinitionInF128) {
  const Float128 huge = float128::exp(500), tiny = 1 / huge;
  const Float128 product_sizes[][2] = {
      {1, 1}, {1e80, 1e-80}, {huge, 1}, {tiny, huge}, {tiny, tiny}};
  for (const auto& [m, k, l] : {std::tuple{1, 1, 1}, {5, 7, 3}, {9, 34, 17}, {33, 64, 40}}) {
    for (const int batch_b : {1, 3}) {
      for (const auto& [of_a, of_b] : product_sizes) {
        const Array a = wide_numbers({3, m, k}, 1, of_a),
                    b = wide_numbers({batch_b, k, l}, 2, of_b);
        const Array start = wide_numbers({l}, 3, of_a * of_b);
        for (const Array* bias : {static_cast<const Array*>(nullptr), &start}) {
          Array c({3, m, l}, DType::f128);
          matmul(a, b, false, false, bias, c);
          const Array expected = defined_in_f128(a, b, bias);
          const Float128 tolerance = 4 * k * of_a * of_b * 0x1p-113;
          for (int64_t i = 0; i < c.size(); ++i) {
            const Float128 error = c.data<Float128>()[i] - expected.data<Float128>()[i];
            ASSERT_LE(float128::abs(error), tolerance) << m << " " << k << " " << l << ", " << i;
          }
        }
      }
    }
  }
}

TEST(Matmul, OfAnInfinityOrANaNIsNoNumberInF128) {
  for (const double bad : {kInfinityOf<double>, -kInfinityOf<double>, kInfinityOf<double> * 0}) {
    Array a = wide_numbers({1, 4, 8}, 1, 1);
    const Array b = wide_numbers({1, 8, 8}, 2, 1);
    a.mutable_data<Float128>()[8 + 3] = bad;
    Array c({1, 4, 8}, DType::f128);
    matmul(a, b, false, false, nullptr, c);
    for (int64_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(float128::is_finite(c.data<Float128>()[i]), i / 8 != 1) << i;
    }
  }
}

TEST(Matmul, LongSumsOfATransposedMatrix) {
  for (const Shape& product_sizes :
       {Shape{120, 2055, 130}, Shape{16, 1024, 64}, Shape{96, 4100, 80}}) {
    const Case p = {.batch_a = 1,
                    .batch_b = 1,
                    .m = product_sizes[0],
                    .k = product_sizes[1],
                    .l = product_sizes[2],
                    .transpose_a = true,
                    .transpose_b = false,
                    .has_bias = false};
    SCOPED_TRACE(left(p).to_string() + " by " + right(p).to_string());
    const Array a = as(DType::bf16, normal(left(p), 1)), b = as(DType::bf16, normal(right(p), 2));
    const std::vector<Array> c = same_bits_for_any_threads([&] {
      Array product({1, p.m, p.l}, DType::f32);
      matmul(a, b, true, false, nullptr, product);
      return std::vector{product};
    });
    EXPECT_EQ(outside(c[0], defined(p, a, b, normal({p.l}, 3))), "");
  }
}

TEST(Matmul, OneProductIsOnePrimitiveInWhateverWayItIsDescribed) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    // Where bf16 has no instructions its products are those of f32, which are there by then.
    if (dtype == DType::bf16 && !bf16_products_are_fast()) continue;
    const auto create = [dtype](const Shape& a, bool transpose_a, const Shape& b,
                                bool transpose_b) {
      const int64_t before = primitives_created();
      Array c({std::max(a[0], b[0]), a[transpose_a ? 2 : 1], b[transpose_b ? 1 : 2]}, DType::f32);
      matmul(as(dtype, normal(a, 1)), as(dtype, normal(b, 2)), transpose_a, transpose_b, nullptr,
             c);
      return primitives_created() - before;
    };
    EXPECT_EQ(create({3, 1, 19}, false, {3, 19, 6}, false), 1);
    EXPECT_EQ(create({3, 19, 1}, true, {3, 19, 6}, false), 0);
    EXPECT_EQ(create({3, 6, 19}, false, {3, 19, 1}, false), 1);
    EXPECT_EQ(create({3, 6, 19}, false, {3, 1, 19}, true), 0);
    EXPECT_EQ(create({3, 6, 1}, false, {3, 1, 19}, false), 1);
    EXPECT_EQ(create({3, 1, 6}, true, {3, 19, 1}, true), 0);
    // Rows of three products by the same matrix are three rows of one.
    EXPECT_EQ(create({1, 3, 19}, false, {1, 19, 6}, false), 1);
    EXPECT_EQ(create({3, 19, 1}, true, {1, 19, 6}, false), 0);
  }
}

TEST(Matmul, HasTheSameBitsForAnyThreads) {
  for (const DType dtype : {DType::f128, DType::f64, DType::f32, DType::bf16}) {
    const Array a = as(dtype, normal({12, 64, 96}, 1)), b = as(dtype, normal({12, 96, 80}, 2));
    same_bits_for_any_threads([&] {
      Array c({12, 64, 80}, dtype == DType::bf16 ? DType::f32 : dtype);
      matmul(a, b, false, false, nullptr, c);
      return std::vector<Array>{c};
    });
  }
}

}  // namespace
}  // namespace qkv::kernels
