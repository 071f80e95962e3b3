#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/random.h"
#include "framework/core/wide.h"
#include "framework/gradcheck/arithmetic.h"

namespace qkv {

Tensor random_like(const Tensor& x, RandomStream stream);  // normal

// How fast each input moves; an empty one stands still.
using Direction = std::vector<Numbers>;

// f around its inputs, in f64 or in f128, whatever it computes in. While one in f128 lives, its
// thread makes a wide run.
class Probe {
 public:
  Probe(const TensorFunction& f, std::span<const Tensor> inputs, const Arithmetic& arithmetic,
        const RandomStream& stream);

  const TensorFunction& function() const { return f_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }
  std::span<const Tensor> inputs() const { return inputs_; }
  size_t size() const { return inputs_.size(); }
  const Numbers& value() const { return value_; }
  const Shape& value_shape() const { return value_shape_; }
  const Numbers& numbers(size_t input) const { return numbers_[input]; }  // empty: masks, indices

  // The power of two at |x|; of an x that is 0 that of the input's largest element, or 1: a step of
  // 2^-k of it is exact. In f32, which needs large steps, all have that of the largest.
  const Numbers& scales(size_t input) const { return scales_[input]; }

  // The effect of rounding on each output: in its ops (Roundings), and in f64, where an op may hide
  // its arithmetic, in the values themselves.
  const Numbers& noise() const { return noise_; }
  // In f128 measures it once more, with more runs: by chance each of a few may round to the same
  // number. In f64 the values themselves show it.
  void measure_noise_closely() {
    if (wide_) noise_ = measured_noise(/*runs=*/12);
  }
  // Whether f is further from a smooth function than that explains; never in f128.
  bool is_rough(size_t output) const { return roughness_[output] > kMargin * noise_[output]; }

  // 2^-k to 2^(1 - k), or less where the steps are closer: at random, so that no period of f
  // divides two of them.
  Float128 step(int k) const;
  Numbers at(const Direction& u, Float128 t) const;  // f(x + t u), with nothing recorded
  int64_t evaluations() const { return evaluations_; }

 private:
  Numbers evaluate(std::span<const Tensor> points) const;
  Numbers measured_noise(uint64_t runs) const;
  void measure_resolution();

  std::optional<WideRun> wide_;
  const TensorFunction& f_;
  Arithmetic arithmetic_;
  RandomStream stream_;
  std::vector<Tensor> inputs_;
  std::vector<Numbers> numbers_, scales_;
  Shape value_shape_;
  Numbers value_, noise_, roughness_;
  Numbers least_noise_;          // as the values show it
  std::vector<char> is_coarse_;  // they show that they are rounded to more than f64 does
  mutable int64_t evaluations_ = 0;
};

// ± 1 to ± 2, so that no two terms cancel by chance.
Float128 random_factor(RandomStream& stream);

// Random directions in which all elements of all inputs move. Those of other streams are
// independent: errors of single derivatives that cancel along one do not along another.

// Each element moves by about its own size.
Direction moved_by_size(const Probe& f, const RandomStream& stream);

// The smallest |gradient_j u_j| above `zero`; 0: there is none.
Float128 least_effect(const Direction& u, std::span<const Numbers> gradients, Float128 zero);

// Each gradient_j u_j above `zero` is as large as the smallest of moved_by_size.
Direction moved_by_effect(const Probe& f, std::span<const Numbers> gradients, Float128 zero,
                          const RandomStream& stream);

// Moves only elements with gradient_j u_j below 2^-20 of the largest. Empty: there are none.
Direction moved_if_small(const Probe& f, std::span<const Numbers> gradients,
                         const RandomStream& stream);

// u where only the elements first … last - 1 of one input move.
Direction part_of(const Direction& u, size_t input, int64_t first, int64_t last);

}  // namespace qkv
