#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "apps/report/statistics.h"

namespace qkv {
namespace {

TEST(GrowthExponentTest, IsThePowerOfAPowerLaw) {
  const std::vector<double> x = {512, 1024, 2048, 8192};
  for (const double power : {0.0, 1.0, 1.7}) {
    std::vector<double> y;
    for (const double value : x) y.push_back(3 * std::pow(value, power));
    EXPECT_NEAR(growth_exponent(x, y), power, 1e-12);
  }
}

// By hand: the logarithms are 0, 1, 2 and 0, 0, 3; the slope is (1 * 1 + 1 * 2) / (1 + 1).
TEST(GrowthExponentTest, IsTheSlopeByLeastSquares) {
  const std::vector<double> x = {1, M_E, M_E * M_E}, y = {1, 1, M_E * M_E * M_E};
  EXPECT_NEAR(growth_exponent(x, y), 1.5, 1e-12);
}

}  // namespace
}  // namespace qkv
