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

struct SubjectChoice {
  std::vector<std::string> names = {};      // ops, layers, models, training steps; empty: all
  std::string config = "";                  // instead the model of this config, with its loss
  std::vector<std::string> overrides = {};  // of the config
  // In f32 and bf16 inputs and parameters are as training has them: the inputs of ops are bf16 as
  // far as the ops take it; layers and models multiply in bf16 and have f32 parameters.
  Precision precision = Precision::kF64;
};

std::vector<std::string> names_of_subjects();  // that may be chosen

// All examples of the chosen functions, at the points of that seed. The model of a config is a
// function of every parameter, freshly initialized, on the first examples of the training data.
absl::StatusOr<std::vector<GradcheckSubject>> subjects_of(const SubjectChoice& choice,
                                                          uint64_t seed);

// The examples of the ops, or also layers, of these names; of all ops when there are no names.
absl::StatusOr<std::vector<OpExamples>> examples_named(const std::vector<std::string>& names,
                                                       bool layers_too);

}  // namespace qkv
