#pragma once

#include <pybind11/pybind11.h>

#include "framework/graph/op.h"

// What Python's collector sees of a graph: the ops that are written in Python. An op that keeps its
// own result is held by it, and the collector must know to let both go.
namespace qkv::python {

// For py::class_ of T, a Tensor or PythonGradients.
template <class T>
pybind11::custom_type_setup collected();

PyObject* object_of(const Op& op);  // of an op in Python that only its node holds; else nullptr

}  // namespace qkv::python
