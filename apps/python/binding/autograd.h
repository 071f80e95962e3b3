#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "framework/autograd/backward.h"
#include "framework/graph/op.h"

namespace qkv::python {

// The results of backward, and whether they may be differentiated again.
struct PythonGradients {
  Gradients gradients;
  bool create_graph = false;
};

// The tensors of a dict, a list, or another sequence: parameters, inputs.
std::vector<Tensor> tensors_of(pybind11::handle tensors);
Tensor tensor_of(pybind11::handle x);  // or an array; throws a TypeError of Python's

// The part of a graph that Python's collector sees: the ops that are written in Python. An op that
// keeps its own result forms a cycle with it, which the collector must be able to free.
// For py::class_ of T, a Tensor or PythonGradients.
template <class T>
pybind11::custom_type_setup collected();

PyObject* object_of(const Op& op);  // of an op in Python that only its node holds; else nullptr

}  // namespace qkv::python
