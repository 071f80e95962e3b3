#include "framework/gradcheck/arithmetic.h"

#include <algorithm>

namespace qkv {

Numbers numbers_of(const Tensor& x) {
  return dispatch_floating("gradcheck", x.dtype(), [&](auto zero) {
    const auto* first = x.array().data<decltype(zero)>();
    return Numbers(first, first + x.size());
  });
}

std::vector<double> doubles_of(std::span<const Scalar> numbers) {
  return {numbers.begin(), numbers.end()};
}

Tensor tensor_of(std::span<const Scalar> numbers, const Shape& shape, DType dtype) {
  if (dtype == DType::bf16) return Tensor(Array::of(shape, dtype, doubles_of(numbers)));
  Array array(shape, dtype);
  dispatch_floating("gradcheck", array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::ranges::transform(numbers, array.mutable_data<T>(),
                           [](Scalar x) { return static_cast<T>(x); });
  });
  return Tensor(array);
}

Sum dot(std::span<const Scalar> a, std::span<const Scalar> b) {
  Sum sum;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum.add(a[i] * b[i]);
  return sum;
}

Scalar largest_of(std::span<const Scalar> x) {
  Scalar largest = 0;
  for (const Scalar number : x) largest = std::max(largest, float128::abs(number));
  return largest;
}

}  // namespace qkv
