#include "framework/graph/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(TensorTest, AConstantIsMadeOfAListOrOfAVector) {
  const std::vector<double> numbers = {1, 2, 3, 4, 5, 6};
  const Tensor x = constant({2, 3}, numbers, DType::f64);
  EXPECT_EQ(x.describe(), "f64[2, 3]");
  EXPECT_EQ(x.to_vector(), numbers);
  EXPECT_EQ(bits(x), bits(constant({2, 3}, {1, 2, 3, 4, 5, 6}, DType::f64)));
  EXPECT_EQ(constant({2, 3}, numbers).dtype(), DType::f32);
  EXPECT_NE(error_of([&] { constant({2, 2}, numbers); }), "");
}

TEST(TensorTest, RandomNumbersAreTheNextOnesOfTheStream) {
  RandomStream stream(3), same(3);
  const Tensor x = random_normal({40, 50}, stream, DType::f64), next = random_normal({2}, stream);
  double sum = 0, squares = 0;
  for (const double number : x.to_vector()) {
    EXPECT_EQ(number, same.normal());
    sum += number, squares += number * number;
  }
  EXPECT_NEAR(sum / 2000, 0.0, 0.1);
  EXPECT_NEAR(squares / 2000, 1.0, 0.15);
  EXPECT_EQ(next.to_vector()[0], static_cast<float>(same.normal()));
}

}  // namespace
}  // namespace qkv
