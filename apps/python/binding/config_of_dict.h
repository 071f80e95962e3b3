#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "train/config/config.h"

namespace qkv::python {

// The config of a dict, {"model": {"d_model": 64}} or {"model.d_model": 64}. Throws Error with the
// sentences of a config file; they name keys instead of lines.
LoadedConfig config_of_dict(const pybind11::dict& config,
                            const std::vector<std::string>& overrides = {});

// The same keys and values as --set takes them: "model.d_model=64".
std::vector<std::string> overrides_of(const pybind11::dict& given);

}  // namespace qkv::python
