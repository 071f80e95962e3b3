#include "framework/nn/position.h"

#include <cmath>

namespace qkv {

Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype) {
  const Shape shape({length, d_model}, "sinusoidal_positions");
  std::vector<double> values;
  values.reserve(static_cast<size_t>(shape.size()));
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t c = 0; c < d_model; ++c) {
      const int64_t pair = c / 2 * 2;  // 2i
      const double exponent = static_cast<double>(pair) / static_cast<double>(d_model);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      values.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return Tensor(Array::of(shape, dtype, values));
}

}  // namespace qkv
