#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/check/mutation/mutation.h"
#include "apps/check/precision/precision_check.h"
#include "apps/check/step_sweep.h"
#include "apps/report/texts/text.h"
#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// The checks of one op, layer, model or step, on all of its examples: a row of the table.
struct GradcheckRow {
  std::string kind = "", name = "";
  int64_t examples = 0, derivatives = 0;
  double disagreement = 0.0, resolved_to = 0.0;  // of its formulas, the largest of each
  double digits = 0.0;                           // that f64 keeps, the least; 0: none was compared
  Verdict verdict = Verdict::kPass;

  void add(const GradcheckReport& report);
  std::string to_text() const;  // a line
};
std::string gradcheck_table_head();  // the line above the rows

// The precision checks of one op, layer, model or step, on all of its examples: a row of the table.
struct PrecisionRow {
  std::string kind = "", name = "";
  int64_t examples = 0, compared = 0, kinks = 0;
  std::optional<double> digits = {};  // of the result that keeps the fewest
  double ratio = 0.0;                 // the largest error / bound
  Verdict verdict = Verdict::kPass;

  void add(const PrecisionReport& report);
  std::string to_text() const;  // a line
};
std::string precision_table_head();  // the lines above the rows

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

// A page that needs nothing else, in both languages, with all findings: first those that did not
// pass, then a table of the functions, each with its examples, its V curve and a Taylor remainder,
// then the planted mistakes and what caught them.
std::string gradcheck_page(const GradcheckFindings& findings, Language language);

}  // namespace qkv
