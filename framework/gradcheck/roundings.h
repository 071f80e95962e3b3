#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "framework/core/random.h"
#include "framework/gradcheck/arithmetic.h"
#include "framework/graph/middleware.h"

namespace qkv {

// What three runs with Roundings change, times this, bounds what rounding does: the change is about
// normal, and the largest of 3 is below 1/4 of a standard deviation with a probability of 0.008.
inline constexpr Scalar kOfChance = 32;

// x with each number moved at random by up to `unit` of itself.
Array moved_at_random(const Array& x, Scalar unit, const RandomStream& stream);

// While one lives, whatever an op reads is moved at random by up to `unit` of itself, and fused ops
// give way to their pieces. What comes out then differs by as much as rounding to that
// unit changes it: sums in which much cancels as well, whose terms move as their own roundings move
// them.
class Roundings final : public Middleware {
 public:
  Roundings(const RandomStream& stream, Scalar unit)
      : Middleware(Role::kChanges), stream_(stream), unit_(unit) {}

  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override;

 private:
  ComposedOnly composed_only_;
  RandomStream stream_;
  uint64_t moved_ = 0;  // arrays
  Scalar unit_;
};

// The largest change of each number that f gives, over a few runs with roundings. `exact` is what f
// gives without them; mutation testing, another middleware, must not have changed that.
std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Scalar unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f);
std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Scalar unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f,
                                         std::span<const Numbers> exact, uint64_t runs = 3);

}  // namespace qkv
