#pragma once

#include <cstdint>
#include <string>

#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// The checks of one op, layer, model or step, on all of its examples: a row of the table.
struct GradcheckRow {
  std::string kind = "", name = "";
  int64_t examples = 0, derivatives = 0;
  double disagreement = 0.0, told_to = 0.0;  // of its formulas, the largest of each
  double digits = 0.0;                       // that f64 keeps, the least; 0: none was compared
  Verdict verdict = Verdict::kPass;

  void add(const GradcheckReport& report);
  std::string to_text() const;  // a line
};
std::string gradcheck_table_head();  // the line above the rows

}  // namespace qkv
