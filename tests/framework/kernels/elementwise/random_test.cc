#include <cmath>

#include "framework/kernels/kernels.h"
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

TEST(RandomFill, HasTheSameBitsForAnyThreads) {
  same_bits_for_any_threads([] {
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
