#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"

// Conversions of arguments that are not classes in Python.
namespace qkv::python {

// Of "f32", or of the name in NumPy and PyTorch. Throws Error where there is no such type.
DType dtype_named(std::string_view name);
DType dtype_of_object(pybind11::handle object);

}  // namespace qkv::python

namespace pybind11::detail {

// A dtype is its name: "f32". NumPy's and PyTorch's types are taken, too.
template <>
struct type_caster<qkv::DType> {
  PYBIND11_TYPE_CASTER(qkv::DType, const_name("str"));

  bool load(handle source, bool /*convert*/) {
    if (!source || source.is_none()) return false;
    value = qkv::python::dtype_of_object(source);
    return true;
  }
  static handle cast(qkv::DType dtype, return_value_policy, handle) {
    const std::string_view name = qkv::dtype_name(dtype);
    return str(name.data(), name.size()).release();
  }
};

// A shape is a tuple of sizes, another sequence of them, or one size.
template <>
struct type_caster<qkv::Shape> {
  PYBIND11_TYPE_CASTER(qkv::Shape, const_name("tuple[int, ...]"));

  bool load(handle source, bool convert) {
    if (make_caster<int64_t> one; one.load(source, convert)) {
      value = qkv::Shape({cast_op<int64_t>(one)});
      return true;
    }
    make_caster<std::vector<int64_t>> sizes;
    if (!sizes.load(source, convert)) return false;
    const auto& dims = cast_op<std::vector<int64_t>&>(sizes);
    value = qkv::Shape(std::span<const int64_t>(dims));
    return true;
  }
  static handle cast(const qkv::Shape& shape, return_value_policy, handle) {
    tuple sizes(static_cast<size_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      sizes[axis] = int_(shape[axis]);
    }
    return sizes.release();
  }
};

}  // namespace pybind11::detail
