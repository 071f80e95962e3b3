#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/report/texts/text.h"
#include "framework/core/status.h"
#include "framework/core/text/terminal.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/support/op_examples.h"
#include "train/config/train_options.h"

// The checks of `qkv gradcheck`.
namespace qkv {

// A subject of `qkv gradcheck`: a function at a point.
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

// The examples of the ops and layers of these names; of all ops without names.
absl::StatusOr<std::vector<OpExamples>> examples_named(const std::vector<std::string>& names);

struct GradcheckRequest {
  SubjectChoice subjects = {};  // the subjects of the check
  int64_t order = 1;            // 2: second derivatives, too
  int64_t seed = 1;             // gives the first point
  int64_t seeds = 1;            // the number of points
  bool verbose = false;         // the text has the reports of passed checks, too
  bool makes_json = false;
  bool makes_page = false;
  Language language = Language::kEnglish;  // that the page begins with
  TellProgress tell = tell_nobody;         // gets the name of each subject, and how many there are
};

struct GradcheckOutcome {
  std::string text = "";      // for a terminal
  std::string json = "";      // the whole report; "": none
  std::string page = "";      // HTML; "": none
  std::string csv = "";       // of sweep_steps
  absl::Status verdict = {};  // an error names what did not pass
};

// Each is an error where there is nothing to check, as for a name that does not exist.

// Compares the gradients in f64 with those of independent methods.
absl::StatusOr<GradcheckOutcome> check_gradients(const GradcheckRequest& request);
// Compares results and gradients in f32 or bf16 with f64, to within rounding.
absl::StatusOr<GradcheckOutcome> check_precision(const GradcheckRequest& request);
// Plants mistakes in the backward formulas of ops and layers; with a page, checks gradients first.
absl::StatusOr<GradcheckOutcome> plant_mistakes(const GradcheckRequest& request);
// The error of numeric derivatives of the first subject, by step size.
absl::StatusOr<GradcheckOutcome> sweep_steps(const GradcheckRequest& request);

}  // namespace qkv
