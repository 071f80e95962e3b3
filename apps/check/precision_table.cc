#include "apps/check/precision_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr char kPrecisionFormat[] = "%-6s%-21s %8s %6s %7s %8s  %s\n";

std::string digits_text(std::optional<double> digits) {
  if (!digits) return "-";
  return *digits > 15.9 ? "all" : absl::StrFormat("%.1f", *digits);
}

const char* by_rounding(Verdict verdict) {
  if (verdict == Verdict::kUndecided) return "undecided";
  return verdict == Verdict::kPass ? "yes" : "no";
}

}  // namespace

void PrecisionRow::add(const PrecisionReport& report) {
  ++examples;
  compared += report.compared();
  kinks += report.kinks;
  ratio = std::max(ratio, report.largest_ratio());
  verdict = worse(verdict, report.verdict());
  for (const ResultPrecision& result : report.results) {
    if (result.digits) digits = std::min(digits.value_or(*result.digits), *result.digits);
  }
}

std::string PrecisionRow::to_text() const {
  return absl::StrFormat(kPrecisionFormat, kind, name, absl::StrCat(compared), absl::StrCat(kinks),
                         digits_text(digits), absl::StrFormat("%.2g", ratio), by_rounding(verdict));
}

std::string precision_table_head() {
  return absl::StrFormat(kPrecisionFormat, "", "", "", "", "", "error /", "by rounding") +
         absl::StrFormat(kPrecisionFormat, "", "", "numbers", "kinks", "digits", "bound", "alone?");
}

}  // namespace qkv
