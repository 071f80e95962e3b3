#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/examples.h"
#include "train/config/options.h"

namespace qkv {

// What `qkv gradcheck` checks: a function at a point.
struct GradcheckSubject {
  std::string kind;     // "op", "layer", "model", "step"
  std::string name;     // "softmax"
  std::string example;  // "rows of 5"
  TensorFunction f;
  std::vector<std::string> input_names = {};  // may be empty
  std::vector<Tensor> inputs = {};            // f64, or of the precision that is asked for
};

// The examples of the ops, or also layers, of these names; of all ops when there are no names.
absl::StatusOr<std::vector<OpExamples>> examples_named(const std::vector<std::string>& names,
                                                       bool layers_too);

// The examples of the ops, layers, models and training steps of these names, at the points of that
// seed; of all of them when there are no names. In f32 and bf16 inputs and parameters are as
// training has them: of bf16 those of ops, as far as they take it; layers and models multiply in
// bf16 and have f32 parameters.
absl::StatusOr<std::vector<GradcheckSubject>> example_subjects(
    const std::vector<std::string>& names, uint64_t seed, Precision precision = Precision::kF64);

// The model of a config with its loss on the first examples of the training data, as a function of
// every parameter, freshly initialized.
absl::StatusOr<GradcheckSubject> config_subject(const std::string& config,
                                                const std::vector<std::string>& overrides,
                                                Precision precision = Precision::kF64);

}  // namespace qkv
