#pragma once

#include <memory>
#include <vector>

#include "framework/graph/node.h"

// The checks of a backward walk, and their error texts.
namespace qkv {

// The cotangent, or the 1 that stands for it. Throws Error where the walk cannot begin so.
Tensor starting_cotangent(const Tensor& output, const Tensor& cotangent);

// Throws Error where the graph was released.
void require_graph(const Node& node);

// The backward of the node's op. Throws BackwardError, which names the op, where that throws, or
// gives gradients of another number than that of the inputs.
std::vector<Tensor> call_backward(const std::shared_ptr<Node>& node, const Tensor& dy);

// Throws BackwardError where a gradient of input i has not its shape and dtype.
void check_gradient(const Node& node, size_t i, const Tensor& dx);

}  // namespace qkv
