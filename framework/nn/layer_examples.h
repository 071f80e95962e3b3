#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/nn/initializer.h"
#include "framework/nn/module.h"
#include "framework/nn/with_parameters.h"
#include "framework/ops/support/op_examples.h"

namespace qkv {

// Every layer, as a function of its inputs and its parameters, in the form of ops' examples, so
// that the checks of ops check layers. Inputs and parameters have the dtype of `init`.
std::vector<OpExamples> layer_examples(const Initializer& init = {RandomStream(1), DType::f64});

// `call(module, inputs)` as a function of the inputs and of every parameter of the module.
template <class Module, class Call>
OpExample module_example(const char* name, const Module& module, std::vector<ExampleInput> inputs,
                         std::vector<std::string> input_names, Call call) {
  const size_t count = inputs.size();
  for (const NamedParameter& p : parameters(module)) {
    inputs.push_back({Fill::kSmall, p.tensor.shape()});
    input_names.push_back(p.name);
  }
  return {.name = name,
          .inputs = std::move(inputs),
          .f =
              [module, call, count](std::span<const Tensor> all) {
                return call(with_parameters(module, all.subspan(count)), all.first(count));
              },
          .input_names = std::move(input_names)};
}

}  // namespace qkv
