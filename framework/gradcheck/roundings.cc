#include "framework/gradcheck/roundings.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "framework/core/wide.h"
#include "framework/graph/rounding.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

bool is_rounded(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) && x.dtype() != DType::bf16;
}

Tensor narrowed(const Tensor& x) { return tensor_of(numbers_of(x), x.shape(), DType::f64); }

}  // namespace

Tensor Roundings::run(std::shared_ptr<Op> op, std::vector<Tensor> inputs) {
  for (Tensor& x : inputs) {
    if (!is_rounded(x)) continue;
    Array moved(x.shape(), x.dtype());
    move(x.array(), moved);
    x = Tensor(moved, x.node());
  }
  const std::vector<Tensor> read = inputs;
  Tensor y = run_directly(op, std::move(inputs));
  const auto is_shared = [&](const Tensor& x) { return x.array().raw() == y.array().raw(); };
  if (rules_ == Rules::kWith && y.defined() && y.dtype() == DType::f128 &&
      std::ranges::none_of(read, is_shared)) {
    move_by_rule(*op, read, y);
  }
  return y;
}

std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Scalar unit,
                                         Roundings::Rules rules,
                                         absl::FunctionRef<std::vector<Numbers>()> f) {
  const Roundings roundings(stream, 0);  // with as many fused ops, and other interceptors
  return changes_by_rounding(stream, unit, rules, f, f());
}

std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Scalar unit,
                                         Roundings::Rules rules,
                                         absl::FunctionRef<std::vector<Numbers>()> f,
                                         std::span<const Numbers> exact) {
  constexpr uint64_t kRuns = 3;
  std::vector<Numbers> changes;
  for (const Numbers& each : exact) changes.emplace_back(each.size());
  for (uint64_t number = 1; number <= kRuns; ++number) {
    const Roundings roundings(stream.derive(number), unit, rules);
    const std::vector<Numbers> moved = f();
    for (size_t i = 0; i < exact.size(); ++i) {
      for (size_t k = 0; k < exact[i].size(); ++k) {
        changes[i][k] = std::max(changes[i][k], float128::abs(moved[i][k] - exact[i][k]));
      }
    }
  }
  return changes;
}

void Roundings::move(const Array& x, Array& moved) {
  dispatch_floating("roundings", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = moved.mutable_data<T>();
    // f32 rounds to its own unit, whatever is computed beside it.
    const double unit =
        std::is_same_v<T, float> && unit_ > 0 ? 0x1p-23 : static_cast<double>(unit_);
    const RandomStream stream = stream_.derive(moved_++);
    kernels::parallel_for(x.size(), kernels::kGrainOf<Float128>, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double share = unit * (2.0 * stream.uniform_at(static_cast<uint64_t>(i)) - 1.0);
        // An infinity stays one.
        const double change = share * static_cast<double>(from[i]);
        to[i] = std::isfinite(change) ? from[i] + static_cast<T>(change) : from[i];
      }
    });
  });
}

void Roundings::move_by_rule(Op& op, std::span<const Tensor> x, const Tensor& y) {
  const Numbers exact = numbers_of(y);
  Rounding rounding;
  {
    const NarrowRun narrow;  // rules compute with doubles
    const std::vector<double> none(x.size());
    std::vector<Tensor> inputs;
    for (const Tensor& each : x) inputs.push_back(is_rounded(each) ? narrowed(each) : each);
    rounding = op.rounding({.x = inputs, .y = narrowed(y), .sum_roundings = none});
  }
  // It is as if the op had given these numbers: no write that backward should know of.
  auto* values = const_cast<Float128*>(y.array().data<Float128>());
  for (size_t i = 0; i < rounding.errors.size(); ++i) {
    values[i] = exact[i] + unit_ * rounding.errors[i] * (2.0 * stream_.uniform() - 1.0);
  }
}

}  // namespace qkv
