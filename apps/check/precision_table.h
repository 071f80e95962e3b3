#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/check/precision/precision_check.h"

namespace qkv {

// The precision checks of one op, layer, model or step, on all of its examples: a row of the table.
struct PrecisionRow {
  std::string kind = "", name = "";
  int64_t examples = 0, compared = 0, kinks = 0;
  std::vector<double> ratios = {};            // error / bound, of all that were compared
  double error_ulps = 0.0, bound_ulps = 0.0;  // where the error has the most ulps, of sure digits
  Verdict verdict = Verdict::kPass;

  void add(const PrecisionReport& report);
  std::string to_text() const;  // a line
};
std::string precision_table_head();  // the lines above the rows

}  // namespace qkv
