#include "framework/gradcheck/conditioning.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv {
namespace {

std::vector<Tensor> beside(std::span<const Tensor> inputs, RandomStream stream) {
  std::vector<Tensor> moved;
  for (const Tensor& x : inputs) {
    if (x.dtype() != DType::f64) {
      moved.push_back(x);
      continue;
    }
    Array values = x.array().copy();
    double* number = values.mutable_data<double>();
    for (int64_t i = 0, size = x.size(); i < size; ++i) {
      const double towards = stream.below(2) == 0 ? -1.0 : 1.0;
      if (number[i] == 0.0) continue;
      number[i] = std::nextafter(number[i], towards * std::numeric_limits<double>::infinity());
    }
    moved.emplace_back(values);
  }
  return moved;
}

}  // namespace

std::vector<double> spread_of(
    absl::FunctionRef<std::vector<double>(std::span<const Tensor> inputs)> of,
    std::span<const Tensor> inputs, const RandomStream& stream) {
  constexpr uint64_t kNeighbours = 4;
  const std::vector<double> here = of(inputs);
  std::vector<double> spread(here.size());
  for (uint64_t k = 0; k < kNeighbours; ++k) {
    const std::vector<double> there = of(beside(inputs, stream.derive(k)));
    for (size_t i = 0; i < here.size(); ++i) {
      const double moved = std::abs(there[i] - here[i]);
      if (std::isfinite(moved)) spread[i] = std::max(spread[i], moved);
    }
  }
  return spread;
}

}  // namespace qkv
