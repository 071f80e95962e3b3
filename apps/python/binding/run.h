#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "framework/nn/forward_context.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "train/folder/loaded_run.h"

namespace qkv::python {

// The result of qkv.load().
struct Run {
  std::string name;  // as the user gave it
  LoadedRun loaded;
  Model model;
};

std::shared_ptr<Run> load(const std::string& name);

using RunClass = pybind11::class_<Run, std::shared_ptr<Run>>;
void bind_trace(pybind11::module_& m, RunClass& run);

// The logits of a model: of tensors, of arrays, and of lists, which may be one sequence. Ctrl-C
// ends it.
Tensor call_model(const Model& model, const pybind11::args& inputs, ForwardContext context = {});

}  // namespace qkv::python
