#include "framework/graph/tensor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/wide.h"
#include "framework/graph/node.h"

namespace qkv {

Tensor::Tensor(Array array) : array_(std::move(array)) {}

Tensor::Tensor(Array array, std::shared_ptr<Node> node)
    : array_(std::move(array)), node_(std::move(node)) {}

std::string Tensor::describe() const { return defined() ? array_.describe() : "undefined"; }

double Tensor::item() const {
  if (!defined()) fail("item: the tensor is undefined");
  if (size() != 1) fail(absl::StrCat("item: ", describe(), " has ", size(), " elements, not 1"));
  if (dtype() == DType::f128) WideRun::note_narrowing("item");
  return to_vector()[0];
}

Tensor parameter(Array array) {
  if (!array.defined()) fail("parameter: the array is undefined");
  if (!is_floating(array.dtype())) {
    fail(absl::StrCat("parameter: ", array.describe(), " has no gradient"));
  }
  return Tensor(std::move(array), std::make_shared<Node>());
}

Tensor full(const Shape& shape, double value, DType dtype) {
  return Tensor(Array::full(shape, dtype, value));
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0.0, dtype); }

Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1.0, dtype); }

Tensor constant(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  return constant(shape, std::span<const double>(values.begin(), values.size()), dtype);
}

Tensor constant(const Shape& shape, std::span<const double> values, DType dtype) {
  return Tensor(Array::of(shape, dtype, values));
}

Tensor random_normal(const Shape& shape, RandomStream& stream, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (double& value : values) value = stream.normal();
  return constant(shape, values, dtype);
}

}  // namespace qkv
