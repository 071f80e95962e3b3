#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "framework/autograd/backward.h"

namespace qkv::python {

// What backward gave, and whether it may be differentiated again.
struct PythonGradients {
  Gradients gradients;
  bool create_graph = false;
};

// The tensors of a dict, a list, or another sequence: parameters, inputs.
std::vector<Tensor> tensors_of(pybind11::handle tensors);
Tensor tensor_of(pybind11::handle x);  // or an array; throws a TypeError of Python's

}  // namespace qkv::python
