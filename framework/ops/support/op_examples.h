#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/core/random.h"
#include "framework/graph/tensor.h"

namespace qkv {

// How an example's input is filled.
enum class Fill {
  kNormal,    // mean 0, variance 1
  kSmall,     // mean 0, standard deviation 0.3: weights of layers
  kPositive,  // uniform in 0.5 … 2
  kApart,  // no two elements, and none and 0, closer than 0.05: away from the kinks of relu and max
  kIndices,  // i64, uniform in 0 … bound - 1
  kTargets,  // the same, with -1 (ignored) at every third
  kMask,     // boolean, each way half of the time, the first of each row false
};

struct ExampleInput {
  Fill fill = Fill::kNormal;
  Shape shape;
  int64_t bound = 0;
};

using ExampleTensors = std::span<const Tensor>;  // an example's inputs

// Inputs that prove an op: they are checked for gradients of first and second order in f64, f32
// against f64, one thread against several.
struct OpExample {
  std::string name;  // "rows of 5"
  std::vector<ExampleInput> inputs;
  std::function<Tensor(ExampleTensors)> f;
  std::vector<std::string> input_names = {};  // for reports; none: "input 0", …
};

// A misuse and the error that it must give.
struct ErrorExample {
  std::string name;
  std::function<void()> misuse;
  std::string message;
};

// Two numbers agree when |a - b| <= absolute + relative max(|a|, |b|). A NaN agrees with nothing.
struct Tolerance {
  double relative, absolute;
};
// How closely a result computed in `dtype` must agree with the exact one. Indices and masks are
// equal or not.
constexpr Tolerance tolerance_of(DType dtype) {
  return dtype == DType::f64    ? Tolerance{.relative = 1e-8, .absolute = 1e-10}
         : dtype == DType::f32  ? Tolerance{.relative = 1e-4, .absolute = 1e-5}
         : dtype == DType::bf16 ? Tolerance{.relative = 2e-2, .absolute = 2e-2}
                                : Tolerance{.relative = 0.0, .absolute = 0.0};
}

struct OpExamples {
  std::string op;
  std::vector<OpExample> examples;
  std::vector<ErrorExample> errors = {};
};

// Those of an elementwise function of one tensor: a matrix and a scalar, filled so.
OpExamples unary_examples(const std::string& op, Tensor (*f)(const Tensor& x),
                          Fill fill = Fill::kNormal);

// Those of an elementwise function of two tensors that broadcast; the first is normal.
OpExamples binary_examples(const std::string& op, Tensor (*f)(const Tensor& a, const Tensor& b),
                           Fill second = Fill::kNormal);
std::vector<ErrorExample> binary_errors(const std::string& op,
                                        Tensor (*f)(const Tensor& a, const Tensor& b));

// Every op's, in alphabetical order: CMake finds each OpExamples NAME_examples().
std::vector<OpExamples> op_examples();

// The inputs of an example; floating ones in `dtype`, as leaves.
std::vector<Tensor> make_inputs(const OpExample& example, DType dtype, const RandomStream& stream);

}  // namespace qkv
