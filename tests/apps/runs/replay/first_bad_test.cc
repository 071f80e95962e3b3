#include "apps/runs/replay/first_bad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace qkv {
namespace {

NumberRange range_of_numbers(const std::vector<double>& numbers) {
  return range_of(Array::of({std::ssize(numbers)}, DType::f64, numbers));
}

TEST(NumberRangeTest, IsThatOfTheFiniteNumbers) {
  const NumberRange range = range_of_numbers({1, -3, INFINITY, std::nan(""), 2, -INFINITY});
  EXPECT_EQ(range.least, -3);
  EXPECT_EQ(range.greatest, 2);
  EXPECT_EQ(range.not_finite, 3);
  EXPECT_DOUBLE_EQ(range.norm, std::sqrt(14.0));
  EXPECT_EQ(range_of_numbers({5, 7}).least, 5);
  EXPECT_EQ(range_of_numbers({-5, -7}).greatest, -5);
  EXPECT_DOUBLE_EQ(range_of_numbers({3e200, 4e200}).norm, 5e200);
}

}  // namespace
}  // namespace qkv
