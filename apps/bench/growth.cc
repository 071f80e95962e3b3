#include "apps/bench/growth.h"

#include <cmath>
#include <cstddef>

namespace qkv {

double growth_exponent(std::span<const double> x, std::span<const double> y) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i]);
    sum_x += u;
    sum_y += v;
    sum_xx += u * u;
    sum_xy += u * v;
  }
  const double n = static_cast<double>(x.size());
  return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

}  // namespace qkv
