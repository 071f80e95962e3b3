#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/lessons/gradcheck_subjects.h"
#include "framework/gradcheck/precision_check.h"
#include "train/config/options.h"

// `qkv gradcheck --precision f32` and `bf16`.
namespace qkv {

// "f64", "f32" or "bf16".
absl::StatusOr<Precision> gradcheck_precision(const std::string& name);

// The checks of one op, layer or model, on all of its examples: a row of the table.
struct PrecisionRow {
  std::string kind = "", name = "";
  int64_t examples = 0, compared = 0, kinks = 0;
  std::vector<double> ratios = {};            // error / bound, of all that were compared
  double error_ulps = 0.0, bound_ulps = 0.0;  // where the error has the most ulps, of sure digits
  Verdict verdict = Verdict::kPass;

  void add(const PrecisionReport& report);
  std::string to_text() const;  // a line
};

// Checks subjects, and reports on all of them.
class PrecisionChecker {
 public:
  PrecisionChecker(Precision precision, bool verbose, bool keeps_json)
      : precision_(precision), verbose_(verbose), keeps_json_(keeps_json) {}

  // The options need no names.
  void check(const GradcheckSubject& subject, PrecisionOptions options);
  std::string text(double seconds) const;  // the table, reports, and the verdict
  nlohmann::ordered_json json(double seconds) const;
  bool empty() const { return rows_.empty(); }
  absl::Status status() const;  // an error names the rows that did not pass, or says there are none

 private:
  PrecisionRow& row_of(const GradcheckSubject& subject);
  std::string without_bf16() const;  // a line, or nothing
  bool holds_row(const std::string& name) const;

  Precision precision_;
  bool verbose_;  // the reports of those that pass, too
  bool keeps_json_;
  std::vector<PrecisionRow> rows_;
  std::vector<std::string> without_bf16_;  // what has nothing in bf16, and is left out
  std::string reports_;
  nlohmann::ordered_json checks_ = nlohmann::ordered_json::array();
};

}  // namespace qkv
