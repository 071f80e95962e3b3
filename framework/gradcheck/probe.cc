#include "framework/gradcheck/probe.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/op.h"

namespace qkv {
namespace {

Scalar power_of_two_at(Scalar x) {
  const auto size = static_cast<double>(float128::abs(x));
  return std::isfinite(size) && size > 0.0 ? std::exp2(std::floor(std::log2(size))) : 1.0;
}

Numbers scales_of(const Numbers& x) {
  const Scalar of_zero = power_of_two_at(largest_of(x));
  Numbers scales;
  scales.reserve(x.size());
  for (const Scalar each : x) scales.push_back(each == 0 ? of_zero : power_of_two_at(each));
  return scales;
}

}  // namespace

Tensor random_like(const Tensor& x, RandomStream stream) {
  Numbers values(static_cast<size_t>(x.size()));
  std::ranges::generate(values, [&] { return stream.normal(); });
  return tensor_of(values, x.shape(), x.dtype());
}

Probe::Probe(const TensorFunction& f, std::span<const Tensor> inputs, const Arithmetic& arithmetic)
    : f_(f), arithmetic_(arithmetic) {
  if (arithmetic.dtype == DType::f128) wide_.emplace();
  for (const Tensor& x : inputs) {
    const bool moves = is_floating(x.dtype());
    numbers_.push_back(moves ? numbers_of(x) : Numbers());
    scales_.push_back(scales_of(numbers_.back()));
    inputs_.push_back(moves ? tensor_of(numbers_.back(), x.shape(), arithmetic.dtype)
                            : x.detached());
  }
  const NoGrad no_grad;
  const Tensor y = f_(inputs_);
  if (!y.defined()) fail("gradcheck: the function gives an undefined tensor");
  if (wide_dtype(y.dtype()) != arithmetic.dtype) {
    fail(
        absl::StrCat("gradcheck: needs f64: the output is ", y.describe(),
                     ", which holds too few digits to tell a wrong derivative from a rounded one"));
  }
  value_shape_ = y.shape();
  value_ = numbers_of(y);
  noise_ = measured_noise(Roundings::Rules::kWithout);
}

Numbers Probe::measured_noise(Roundings::Rules rules) const {
  const std::vector<Numbers> changes =
      changes_by_rounding(RandomStream(0).derive("noise"), 2 * arithmetic_.roundoff, rules,
                          [this] { return std::vector<Numbers>{evaluate(inputs_)}; }, {&value_, 1});
  Numbers noise = changes[0];
  for (size_t k = 0; k < noise.size(); ++k) {
    noise[k] = std::max(noise[k], arithmetic_.roundoff * float128::abs(value_[k]));
  }
  return noise;
}

Numbers Probe::evaluate(std::span<const Tensor> points) const {
  const NoGrad no_grad;
  ++evaluations_;
  const Tensor y = f_(points);
  if (!y.defined() || y.shape() != value_shape_ || wide_dtype(y.dtype()) != arithmetic_.dtype) {
    fail(absl::StrCat("gradcheck: the function gives ", y.describe(),
                      " near a point where it gave ", std::string(dtype_name(arithmetic_.dtype)),
                      value_shape_.to_string()));
  }
  return numbers_of(y);
}

Numbers Probe::at(const Direction& u, Scalar t) const {
  std::vector<Tensor> points = inputs_;
  for (size_t i = 0; i < u.size(); ++i) {
    if (u[i].empty()) continue;
    Numbers moved = numbers_[i];
    for (size_t k = 0; k < moved.size(); ++k) moved[k] += t * u[i][k];
    points[i] = tensor_of(moved, inputs_[i].shape(), arithmetic_.dtype);
  }
  return evaluate(points);
}

}  // namespace qkv
