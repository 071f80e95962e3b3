#include "apps/check/gradcheck_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "framework/core/columns.h"

namespace qkv {
namespace {

constexpr char kFormat[] = "%-5s %s %11s %9s %7s %6s %s\n";

// A long name takes of the room before the count.
std::string named_count(const std::string& name, const std::string& count) {
  constexpr int64_t kColumns = 27;
  return padded(name, kColumns - text_width(count)) + count;
}

// What is no number is worse than any.
double larger(double a, double b) {
  return std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

}  // namespace

void GradcheckRow::add(const GradcheckReport& report) {
  ++examples;
  derivatives += report.derivatives;
  verdict = worse(verdict, report.verdict());
  for (const FormulaReport& formula : report.formulas) {
    disagreement = larger(disagreement, formula.disagreement);
    told_to = larger(told_to, formula.told_to);
  }
  for (const InputReport& input : report.inputs) {
    if (input.digits == 0.0) continue;
    digits = digits == 0.0 ? input.digits : std::min(digits, input.digits);
  }
}

std::string GradcheckRow::to_text() const {
  return absl::StrFormat(kFormat, kind, named_count(name, absl::StrCat(examples)),
                         absl::StrCat(derivatives), size_text(disagreement), size_text(told_to),
                         digits_text(digits), std::string(verdict_name(verdict)));
}

std::string gradcheck_table_head() {
  return absl::StrFormat(kFormat, "", named_count("", "examples"), "derivatives", "agrees to",
                         "told to", "digits", "verdict");
}

}  // namespace qkv
