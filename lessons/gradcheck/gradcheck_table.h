#pragma once

#include <cstdint>
#include <string>

#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// error / tolerance; infinite where the error is no number.
double share_of_tolerance(const Agreement& a);

// The checks of one op, layer, model or step, on all of its examples: a row of the table.
struct GradcheckRow {
  std::string kind = "", name = "";
  int64_t examples = 0, derivatives = 0, structural_zeros = 0, kinks = 0;
  double worst = 0.0;  // error / tolerance
  double missed =
      0.0;  // the probability, for a wrong element of an input that is checked in blocks
  Verdict verdict = Verdict::kPass;

  void add(const GradcheckReport& report);
  std::string to_text() const;  // a line
};
std::string gradcheck_table_head();  // the line above the rows

}  // namespace qkv
