#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>

#include "framework/graph/tensor.h"

// Arrays from Python and to it. A dense, row-major, aligned and writable one is shared; any other
// is copied.
namespace qkv::python {

// The numbers of an array of NumPy, of what has __dlpack__ (a tensor of PyTorch), of whatever else
// NumPy makes an array of: a list, a number. In their own type by default; Python's own numbers are
// f32, i64 and bool. A copy where `copy` is true. Throws Error on types that arrays do not have.
Array array_from(pybind11::handle object, std::optional<DType> dtype = std::nullopt,
                 bool copy = false);

// A view of the numbers that keeps them alive. Of bf16: their bits, under the name "bfloat16". Of
// f128, a copy in f64.
pybind11::array view_of(const Array& array, bool writable = false);

// DLPack, which other libraries of tensors speak (https://dmlc.github.io/dlpack).
pybind11::capsule dlpack_of(const Array& array);

}  // namespace qkv::python
