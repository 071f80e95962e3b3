#pragma once

#include <functional>
#include <span>

#include "framework/graph/tensor.h"

namespace qkv {

// What can be differentiated and checked: any function of tensors, among them masks and indices.
using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

}  // namespace qkv
