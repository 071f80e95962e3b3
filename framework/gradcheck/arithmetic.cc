#include "framework/gradcheck/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

bool is_rounded(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) && x.dtype() != DType::bf16;
}

}  // namespace

Numbers numbers_of(const Tensor& x) {
  return dispatch_floating("gradcheck", x.dtype(), [&](auto zero) {
    const auto* first = x.array().data<decltype(zero)>();
    return Numbers(first, first + x.size());
  });
}

std::vector<double> doubles_of(std::span<const Float128> numbers) {
  return {numbers.begin(), numbers.end()};
}

Tensor tensor_of(std::span<const Float128> numbers, const Shape& shape, DType dtype) {
  if (dtype == DType::bf16) return Tensor(Array::of(shape, dtype, doubles_of(numbers)));
  Array array(shape, dtype);
  dispatch_floating("gradcheck", array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::transform(numbers, array.mutable_data<T>(),
                           [](Float128 x) { return static_cast<T>(x); });
  });
  return Tensor(array);
}

Sum dot(std::span<const Float128> a, std::span<const Float128> b) {
  Sum sum;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum.add(a[i] * b[i]);
  return sum;
}

Float128 largest_of(std::span<const Float128> x) {
  Float128 largest = 0;
  for (const Float128 number : x) largest = std::max(largest, float128::abs(number));
  return largest;
}

Tensor Roundings::forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  std::vector<Tensor> moved(x.begin(), x.end());
  for (Tensor& each : moved) {
    if (!is_rounded(each)) continue;
    each = Tensor(moved_at_random(each.array(), unit_, stream_.derive(moved_++)), each.node());
  }
  return next(op, moved);
}

std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Float128 unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f) {
  const Roundings roundings(stream, 0);  // with as many fused ops, and no other that changes ops
  return changes_by_rounding(stream, unit, f, f());
}

std::vector<Numbers> changes_by_rounding(const RandomStream& stream, Float128 unit,
                                         absl::FunctionRef<std::vector<Numbers>()> f,
                                         std::span<const Numbers> exact, uint64_t runs) {
  std::vector<Numbers> changes;
  for (const Numbers& each : exact) changes.emplace_back(each.size());
  for (uint64_t number = 1; number <= runs; ++number) {
    const Roundings roundings(stream.derive(number), unit);
    const std::vector<Numbers> moved = f();
    for (size_t i = 0; i < exact.size(); ++i) {
      for (size_t k = 0; k < exact[i].size(); ++k) {
        changes[i][k] = std::max(changes[i][k], float128::abs(moved[i][k] - exact[i][k]));
      }
    }
  }
  return changes;
}

Array moved_at_random(const Array& x, Float128 unit, const RandomStream& stream) {
  Array moved(x.shape(), x.dtype());
  dispatch_floating("roundings", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = moved.mutable_data<T>();
    // f32 rounds to its own unit, whatever is computed beside it.
    const double by = std::is_same_v<T, float> && unit > 0 ? 0x1p-23 : static_cast<double>(unit);
    kernels::parallel_for(x.size(), kernels::kGrainOf<Float128>, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double share = by * (2.0 * stream.uniform_at(static_cast<uint64_t>(i)) - 1.0);
        // An infinity stays one.
        const double change = share * static_cast<double>(from[i]);
        to[i] = std::isfinite(change) ? from[i] + static_cast<T>(change) : from[i];
      }
    });
  });
  return moved;
}

}  // namespace qkv
