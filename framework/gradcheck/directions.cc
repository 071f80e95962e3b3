#include "framework/gradcheck/directions.h"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

constexpr Scalar kSmall = 0x1p-20;  // an effect beside the largest

// ± 1 to ± 2 in 10 bits: a number of 53 bits is moved by it exactly.
Scalar random_short_factor(RandomStream& stream) {
  const double size = 1.0 + std::floor(0x1p10 * stream.uniform()) * 0x1p-10;
  return stream.uniform() < 0.5 ? -size : size;
}

Scalar effect(const Numbers& gradient, const Numbers& u, size_t j) {
  return gradient.empty() ? 0 : float128::abs(gradient[j] * u[j]);
}

void for_each_effect(std::span<const Numbers> gradients, auto& u, auto visit) {
  for (size_t i = 0; i < u.size(); ++i) {
    for (size_t j = 0; j < u[i].size(); ++j) visit(effect(gradients[i], u[i], j), u[i][j]);
  }
}

bool counts(Scalar effect, Scalar zero) { return effect > zero && float128::is_finite(effect); }

}  // namespace

Scalar least_effect(const Direction& u, std::span<const Numbers> gradients, Scalar zero) {
  Scalar least = kInfinityOf<Scalar>;
  for_each_effect(gradients, u, [&](Scalar effect, Scalar) {
    if (counts(effect, zero)) least = std::min(least, effect);
  });
  return float128::is_finite(least) ? least : 0;
}

Scalar random_factor(RandomStream& stream) {
  const double size = 1.0 + stream.uniform();
  return stream.uniform() < 0.5 ? -size : size;
}

Direction moved_by_size(const Probe& f, const RandomStream& stream) {
  Direction u(f.size());
  for (size_t i = 0; i < u.size(); ++i) {
    RandomStream factors = stream.derive(i);
    for (const Scalar scale : f.scales(i)) u[i].push_back(random_short_factor(factors) * scale);
  }
  return u;
}

Direction moved_by_effect(const Probe& f, std::span<const Numbers> gradients, Scalar zero,
                          const RandomStream& stream) {
  Direction u = moved_by_size(f, stream);
  const Scalar smallest = least_effect(u, gradients, zero);
  for_each_effect(gradients, u, [&](Scalar effect, Scalar& u_j) {
    if (!counts(effect, zero)) return;
    const auto ratio = std::max(0x1p-1000, static_cast<double>(smallest / effect));
    u_j *= std::exp2(std::floor(std::log2(ratio)));
  });
  return u;
}

Direction moved_if_small(const Probe& f, std::span<const Numbers> gradients,
                         const RandomStream& stream) {
  Direction u = moved_by_size(f, stream);
  Scalar largest = 0;
  for_each_effect(gradients, u, [&](Scalar effect, Scalar&) {
    if (effect > largest && float128::is_finite(effect)) largest = effect;
  });
  bool any = false;
  for_each_effect(gradients, u, [&](Scalar effect, Scalar& u_j) {
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
