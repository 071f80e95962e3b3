#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/check/subjects.h"
#include "framework/core/terminal.h"

// What `qkv gradcheck` does.
namespace qkv {

struct GradcheckRequest {
  SubjectChoice subjects = {};  // what is checked
  int64_t order = 1;            // 2: second derivatives, too
  int64_t seed = 1;             // gives the first point
  int64_t seeds = 1;            // the number of points
  bool verbose = false;         // the text has the reports of passed checks, too
  bool makes_json = false;
  bool makes_page = false;
  TellProgress tell = tell_nobody;  // hears what is being checked, and how much there is
};

struct GradcheckOutcome {
  std::string text = "";      // for a terminal
  std::string json = "";      // the whole report; "": none
  std::string page = "";      // HTML; "": none
  std::string csv = "";       // of sweep_steps
  absl::Status verdict = {};  // an error names what did not pass
};

// Each is an error where there is nothing to check, as for a name that does not exist.

// Compares the gradients in f64 with what the independent methods say.
absl::StatusOr<GradcheckOutcome> check_gradients(const GradcheckRequest& request);
// Compares results and gradients in f32 or bf16 with f64, within what rounding does.
absl::StatusOr<GradcheckOutcome> check_precision(const GradcheckRequest& request);
// Plants mistakes in the backward formulas of ops and layers; with a page, checks gradients first.
absl::StatusOr<GradcheckOutcome> plant_mistakes(const GradcheckRequest& request);
// Which properties of each op are checked.
absl::StatusOr<GradcheckOutcome> show_coverage(const GradcheckRequest& request);
// The error of numeric derivatives of the first subject, by step size.
absl::StatusOr<GradcheckOutcome> sweep_steps(const GradcheckRequest& request);

}  // namespace qkv
