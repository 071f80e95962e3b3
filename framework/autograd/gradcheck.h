#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/autograd/tolerance.h"
#include "framework/graph/tensor.h"

namespace qkv {

using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

struct GradcheckOptions {
  // 1: the gradients of f. 2: also the gradients of those gradients, as a function of the inputs
  // and of the cotangent.
  int order = 1;
  uint64_t seed = 1;  // of the random cotangents
  Tolerance tolerance = tolerance_of(DType::f64);
};

// The check of one input; `element` and what follows are those of its worst element.
struct InputReport {
  int order = 1;
  std::string name;  // "input 0"; "cotangent" at order 2
  Shape shape = {};
  int64_t element = 0;  // in row-major order
  double analytic = 0.0;
  double numeric = 0.0;
  double error = 0.0;            // |analytic - numeric|
  double estimated_error = 0.0;  // of `numeric`
  double tolerance = 0.0;        // of both
  bool passed = true;

  std::string to_text() const;  // one line
};

struct GradcheckReport {
  std::vector<InputReport> inputs;  // those of order 1 before those of order 2
  int64_t elements = 0;             // how many derivatives were compared

  bool passed() const;
  std::string to_text() const;  // one line for each input, and a verdict
};

// Compares backward with numeric derivatives of f at `inputs`, element by element: the derivative
// of the dot product of f with a random cotangent, by central differences extrapolated to a step of
// 0 (Richardson). The cotangent is never all ones, which are blind to every function whose outputs
// sum to a constant. What is not finite never passes.
//
// f must give the same bits each time. Every floating input is checked, whether or not it is a
// leaf; masks and indices are passed on. Throws Error unless these inputs and the output are f64:
// f32 holds too few digits to tell a wrong derivative from a rounded one.
GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options = {});

}  // namespace qkv
