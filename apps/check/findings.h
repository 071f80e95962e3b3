#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/check/gradcheck_table.h"
#include "apps/check/mutation/mutation.h"
#include "apps/check/sweep.h"
#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// The check of one example at one point.
struct CheckedExample {
  std::string name;   // "rows of 5"
  uint64_t seed = 1;  // of the point
  GradcheckReport report = {};
};

// The error against the step of one example.
struct StepCurve {
  std::string example = "";
  std::vector<SweepPoint> points = {};  // none: `why_none` says why
  std::string why_none = "";
};

// One op, layer or model.
struct CheckedFunction {
  GradcheckRow row = {};  // counts every example at every point
  // Every example at the first point; at the others those that did not pass.
  std::vector<CheckedExample> examples = {};
  StepCurve curve = {};
};

// Everything that one call of gradcheck found, for its page.
struct GradcheckFindings {
  std::vector<CheckedFunction> functions = {};
  int64_t order = 1, seed = 1, seeds = 1;  // the points are those of `seeds` seeds from `seed` on
  double seconds = 0.0;
  std::optional<MutationReport> mutations = {};  // where mistakes were planted

  // The function of that kind and name, made where there was none.
  CheckedFunction& function(const std::string& kind, const std::string& name);

  GradcheckRow total() const;  // the examples and derivatives of all functions
};

}  // namespace qkv
