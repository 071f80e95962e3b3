#include "framework/gradcheck/probe.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"

namespace qkv {
namespace {

// The most that a rounding moves a value, as a multiple of the change by Roundings: few samples
// show that much, and kMargin counts on less.
constexpr Float128 kSure = 8;

Float128 power_of_two_at(Float128 x) {
  const auto size = static_cast<double>(float128::abs(x));
  return std::isfinite(size) && size > 0.0 ? std::exp2(std::floor(std::log2(size))) : 1.0;
}

// The largest that divides x; a large one for 0, and 0 if x is not finite.
Float128 power_of_two_in(Float128 x) {
  if (x == 0) return kInfinityOf<Float128>;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(x), &exponent);
  if (!std::isfinite(fraction)) return 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::abs(fraction), 53));
  return std::ldexp(static_cast<double>(digits & -digits), exponent - 53);
}

Numbers scales_of(const Numbers& x, bool alike) {
  const Float128 of_zero = power_of_two_at(largest_of(x));
  Numbers scales;
  scales.reserve(x.size());
  for (const Float128 each : x)
    scales.push_back(each == 0 || alike ? of_zero : power_of_two_at(each));
  return scales;
}

constexpr Float128 kSmall = 0x1p-20;  // an effect beside the largest

// ± 1 to ± 2 in 10 bits: a number of 53 bits is moved by it exactly.
Float128 random_short_factor(RandomStream& stream) {
  const double size = 1.0 + std::floor(0x1p10 * stream.uniform()) * 0x1p-10;
  return stream.uniform() < 0.5 ? -size : size;
}

Float128 effect(const Numbers& gradient, const Numbers& u, size_t j) {
  return gradient.empty() ? 0 : float128::abs(gradient[j] * u[j]);
}

void for_each_effect(std::span<const Numbers> gradients, auto& u, auto visit) {
  for (size_t i = 0; i < u.size(); ++i) {
    for (size_t j = 0; j < u[i].size(); ++j) visit(effect(gradients[i], u[i], j), u[i][j]);
  }
}

bool counts(Float128 effect, Float128 zero) { return effect > zero && float128::is_finite(effect); }

}  // namespace

Tensor random_like(const Tensor& x, RandomStream stream) {
  Numbers values(static_cast<size_t>(x.size()));
  std::ranges::generate(values, [&] { return stream.normal(); });
  return tensor_of(values, x.shape(), x.dtype());
}

Probe::Probe(const TensorFunction& f, std::span<const Tensor> inputs, const Arithmetic& arithmetic,
             const RandomStream& stream)
    : f_(f), arithmetic_(arithmetic), stream_(stream) {
  if (arithmetic.dtype == DType::f128) wide_.emplace();
  for (const Tensor& x : inputs) {
    const bool moves = is_floating(x.dtype());
    numbers_.push_back(moves ? numbers_of(x) : Numbers());
    scales_.push_back(scales_of(numbers_.back(), arithmetic.is_f32()));
    inputs_.push_back(moves ? tensor_of(numbers_.back(), x.shape(), arithmetic.dtype)
                            : x.detached());
  }
  const NoGrad no_grad;
  const Tensor y = f_(inputs_);
  value_shape_ = y.shape();
  value_ = numbers_of(y);
  roughness_.resize(value_.size()), least_noise_.resize(value_.size()),
      is_coarse_.resize(value_.size());
  if (arithmetic.dtype == DType::f64) measure_resolution();
  noise_ = measured_noise(/*runs=*/3);
}

Numbers Probe::measured_noise(uint64_t runs) const {
  const std::vector<Numbers> changes = changes_by_rounding(
      RandomStream(0).derive("noise"), 2 * arithmetic_.roundoff,
      [this] { return std::vector<Numbers>{evaluate(inputs_)}; }, {&value_, 1}, runs);
  Numbers noise = changes[0];
  for (size_t k = 0; k < noise.size(); ++k) {
    if (is_coarse_[k] != 0) noise[k] /= kSure;  // numbers of f32 move by all of their last digit
    noise[k] = std::max({noise[k], arithmetic_.unit * float128::abs(value_[k]), least_noise_[k]});
  }
  return noise;
}

// The resolution of a value: if a power of two, it divides the value; and if some small steps leave
// the value unchanged, it is at most the smallest change by other steps. And f(x + d) + f(x - d) -
// 2 f(x) falls as d² where f is smooth.
void Probe::measure_resolution() {
  constexpr std::array kSizes = {3, 19, 22, 22, 52, 7, 19, 22, 22, 52, 11, 19, 22, 22, 26, 26, 52};
  constexpr int kSmall = 19, kTiny = 22, kNeighbour = 52;  // the last along a direction
  constexpr Float128 kFull = 0x1p-45;  // a number with a coarser rounding has the digits of f64
  const size_t outputs = value_.size();
  Numbers divisor(outputs), least_move(outputs, kInfinityOf<Float128>), bend(outputs);
  std::ranges::transform(value_, divisor.begin(), power_of_two_in);
  std::vector<char> stands_still(outputs);
  RandomStream factors = stream_.derive("resolution");
  uint64_t directions = 0;
  Direction u;
  for (const int size : kSizes) {
    if (u.empty()) {
      u = moved_by_size(*this, stream_.derive("resolution").derive(++directions));
      bend.assign(outputs, 0);
    }
    const Float128 t = std::ldexp(1.0 - 0.5 * factors.uniform(), -size);
    const Numbers above = at(u, t), below = at(u, -t);
    for (size_t k = 0; k < outputs; ++k) {
      for (const Float128 y : {above[k], below[k]}) {
        const Float128 move = float128::abs(y - value_[k]);
        if (size == kNeighbour) {
          least_noise_[k] = std::max(least_noise_[k], move);
          continue;
        }
        divisor[k] = std::min(divisor[k], power_of_two_in(y));
        if (move > 0) least_move[k] = std::min(least_move[k], move);
        if (move == 0 && size >= kSmall) stands_still[k] = 1;
      }
      const Float128 second = float128::abs(above[k] + below[k] - 2 * value_[k]) / 2;
      if (size < kTiny) bend[k] = std::max(bend[k], second / (t * t));
      if (size == kTiny) roughness_[k] = std::max(roughness_[k], second - 4 * bend[k] * t * t);
    }
    if (size == kNeighbour) u.clear();
  }
  for (size_t k = 0; k < outputs; ++k) {
    const Float128 size = float128::abs(value_[k]), coarsest = arithmetic_.coarsest * size;
    Float128 resolution = float128::is_finite(least_move[k]) ? std::min(divisor[k], coarsest) : 0;
    if (stands_still[k] != 0 && least_move[k] <= coarsest) {
      resolution = std::max(resolution, least_move[k]);
    }
    is_coarse_[k] = resolution > kFull * size || arithmetic_.is_f32();
    if (is_coarse_[k] != 0) resolution = std::max(resolution, roughness_[k]);
    least_noise_[k] = std::max(least_noise_[k], resolution / kSure);
  }
}

Float128 Probe::step(int k) const {
  RandomStream stream = stream_.derive("step").derive(static_cast<uint64_t>(k));
  return std::ldexp(1.0 + arithmetic_.stride / 4.0 * stream.uniform(), -k);
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

Numbers Probe::at(const Direction& u, Float128 t) const {
  std::vector<Tensor> points = inputs_;
  for (size_t i = 0; i < u.size(); ++i) {
    if (u[i].empty()) continue;
    Numbers moved = numbers_[i];
    for (size_t k = 0; k < moved.size(); ++k) moved[k] += t * u[i][k];
    points[i] = tensor_of(moved, inputs_[i].shape(), arithmetic_.dtype);
  }
  return evaluate(points);
}

Float128 least_effect(const Direction& u, std::span<const Numbers> gradients, Float128 zero) {
  Float128 least = kInfinityOf<Float128>;
  for_each_effect(gradients, u, [&](Float128 effect, Float128) {
    if (counts(effect, zero)) least = std::min(least, effect);
  });
  return float128::is_finite(least) ? least : 0;
}

Float128 random_factor(RandomStream& stream) {
  const double size = 1.0 + stream.uniform();
  return stream.uniform() < 0.5 ? -size : size;
}

Direction moved_by_size(const Probe& f, const RandomStream& stream) {
  Direction u(f.size());
  for (size_t i = 0; i < u.size(); ++i) {
    RandomStream factors = stream.derive(i);
    for (const Float128 scale : f.scales(i)) u[i].push_back(random_short_factor(factors) * scale);
  }
  return u;
}

Direction moved_by_effect(const Probe& f, std::span<const Numbers> gradients, Float128 zero,
                          const RandomStream& stream) {
  Direction u = moved_by_size(f, stream);
  const Float128 smallest = least_effect(u, gradients, zero);
  for_each_effect(gradients, u, [&](Float128 effect, Float128& u_j) {
    if (!counts(effect, zero)) return;
    const auto ratio = std::max(0x1p-1000, static_cast<double>(smallest / effect));
    u_j *= std::exp2(std::floor(std::log2(ratio)));
  });
  return u;
}

Direction moved_if_small(const Probe& f, std::span<const Numbers> gradients,
                         const RandomStream& stream) {
  Direction u = moved_by_size(f, stream);
  Float128 largest = 0;
  for_each_effect(gradients, u, [&](Float128 effect, Float128&) {
    if (effect > largest && float128::is_finite(effect)) largest = effect;
  });
  bool any = false;
  for_each_effect(gradients, u, [&](Float128 effect, Float128& u_j) {
    const bool is_small = effect < kSmall * largest;
    if (!is_small) u_j = 0;
    any |= is_small;
  });
  return any ? u : Direction();
}

Direction part_of(const Direction& u, size_t input, int64_t first, int64_t last) {
  Direction result(u.size());
  Numbers& moves = result[input];
  moves.resize(u[input].size());
  std::copy(u[input].begin() + first, u[input].begin() + last, moves.begin() + first);
  return result;
}

}  // namespace qkv
