#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/check/precision/precision_check.h"

namespace qkv {

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

}  // namespace qkv
