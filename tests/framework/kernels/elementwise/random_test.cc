
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
