#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "models/model.h"
#include "train/folder/loaded_run.h"

namespace qkv::python {

// What qkv.load() gives.
struct Run {
  std::string name;  // as the user gave it
  LoadedRun loaded;
  Model model;
};

std::shared_ptr<Run> load(const std::string& name);

using RunClass = pybind11::class_<Run, std::shared_ptr<Run>>;
void bind_trace(pybind11::module_& m, RunClass& run);

}  // namespace qkv::python
