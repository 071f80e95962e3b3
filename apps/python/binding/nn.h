#pragma once

#include <pybind11/pybind11.h>

#include "framework/nn/forward_context.h"
#include "framework/nn/module.h"
#include "models/model.h"

namespace qkv::python {

// The logits of a model: of tensors, of arrays, and of lists, which may be one sequence. Ctrl-C
// ends it.
Tensor call_model(const Model& model, const pybind11::args& inputs, ForwardContext context = {});

}  // namespace qkv::python
