#include "framework/kernels/random.h"

#include <cmath>

#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

TEST(RandomFill, ElementsAreTheNumbersOfTheStream) {
  const RandomStream stream = RandomStream(3).derive("weights");
  for (const DType dtype : {DType::f64, DType::f32}) {
    Array y({10001}, dtype);
    fill_normal(stream, 1, 0.5, y);
    EXPECT_NEAR(y.to_vector()[0], 1 + 0.5 * stream.normal_at(0), 1e-6);
    EXPECT_NEAR(y.to_vector()[10000], 1 + 0.5 * stream.normal_at(10000), 1e-6);
    fill_uniform(stream, -2, 3, y);
    EXPECT_NEAR(y.to_vector()[9999], -2 + 5 * stream.uniform_at(9999), 1e-6);
  }
}

TEST(Dropout, KeepsTheShareAndScalesWhatItKeeps) {
  constexpr int64_t kSize = 100003;
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array x = as(dtype, normal({kSize}, 1)), dy = as(dtype, normal({kSize}, 2));
    for (const double p : {0.0, 0.1, 0.5, 0.9}) {
      Array y({kSize}, dtype), mask({kSize}, DType::boolean), dx({kSize}, dtype);
      dropout(RandomStream(5), p, x, y, mask);
      dropout_backward(mask, p, dy, dx);
      const auto in = x.to_vector(), out = y.to_vector(), kept = mask.to_vector();
      const auto d = dy.to_vector(), back = dx.to_vector();
      double count = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        ASSERT_NEAR(out[i], kept[i] != 0 ? in[i] / (1 - p) : 0, 1e-5);
        ASSERT_NEAR(back[i], kept[i] != 0 ? d[i] / (1 - p) : 0, 1e-5);
        count += kept[i];
      }
      // Five standard deviations of a binomial count.
      EXPECT_NEAR(count, kSize * (1 - p), 5 * std::sqrt(kSize * p * (1 - p)));
    }
  }
}

TEST(Dropout, NeighboursAreIndependent) {
  constexpr int64_t kSize = 100000;
  const Array x = Array::full({kSize}, DType::f32, 1);
  Array y({kSize}, DType::f32), mask({kSize}, DType::boolean);
  dropout(RandomStream(5), 0.5, x, y, mask);
  const auto kept = mask.to_vector();
  for (const size_t lag : {1, 2, 4, 16, 32, 64, 128}) {
    double together = 0;
    for (size_t i = lag; i < kept.size(); ++i) together += kept[i] * kept[i - lag];
    EXPECT_NEAR(together, kSize / 4.0, 5 * std::sqrt(kSize * 3.0 / 16)) << lag;
  }
}

TEST(Dropout, StreamsDiffer) {
  const Array x = Array::full({1000}, DType::f32, 1);
  Array y({1000}, DType::f32), a({1000}, DType::boolean), b({1000}, DType::boolean);
  dropout(RandomStream(5), 0.5, x, y, a);
  dropout(RandomStream(5), 0.5, x, y, b);
  EXPECT_TRUE(bits(a) == bits(b));
  dropout(RandomStream(6), 0.5, x, y, b);
  EXPECT_FALSE(bits(a) == bits(b));
  dropout(RandomStream(5).derive(1), 0.5, x, y, b);
  EXPECT_FALSE(bits(a) == bits(b));
}

// A longer array begins with the same choices.
TEST(Dropout, AChoiceDependsOnItsPlaceAlone) {
  const Array x = Array::full({50000}, DType::f32, 1), few = Array::full({77}, DType::f32, 1);
  Array y({50000}, DType::f32), mask({50000}, DType::boolean);
  Array z({77}, DType::f32), few_mask({77}, DType::boolean);
  dropout(RandomStream(5), 0.5, x, y, mask);
  dropout(RandomStream(5), 0.5, few, z, few_mask);
  EXPECT_EQ(bits(few_mask), bits(mask).substr(0, 77));
}

TEST(RandomFill, HasTheSameBitsForAnyThreads) {
  expect_same_bits_for_any_threads([] {
    Array a({50001}, DType::f32), b({50001}, DType::f32), c({50001}, DType::f32);
    Array mask({50001}, DType::boolean);
    fill_normal(RandomStream(1), 0, 1, a);
    fill_uniform(RandomStream(2), 0, 1, b);
    dropout(RandomStream(3), 0.3, a, c, mask);
    return std::vector<Array>{a, b, c, mask};
  });
}

}  // namespace
}  // namespace qkv::kernels
