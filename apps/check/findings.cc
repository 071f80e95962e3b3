#include "apps/check/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "framework/core/text/columns.h"

namespace qkv {
namespace {

constexpr char kFormat[] = "%-5s %s %11s %9s %8s %6s %s\n";

// A long name takes of the room before the count.
std::string named_count(const std::string& name, const std::string& count) {
  constexpr int64_t kColumns = 26;
  return padded(name, kColumns - text_width(count)) + count;
}

// NaN is worse than any number.
double larger(double a, double b) {
  return std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

constexpr char kPrecisionFormat[] = "%-6s%-21s %8s %6s %7s %8s  %s\n";

std::string precision_digits(std::optional<double> digits) {
  if (!digits) return "-";
  return *digits > 15.9 ? "all" : absl::StrFormat("%.1f", *digits);
}

const char* by_rounding(Verdict verdict) {
  if (verdict == Verdict::kUndecided) return "undecided";
  return verdict == Verdict::kPass ? "yes" : "no";
}

}  // namespace

CheckedFunction& GradcheckFindings::function(const std::string& kind, const std::string& name) {
  const auto found = std::ranges::find_if(functions, [&](const CheckedFunction& each) {
    return each.row.kind == kind && each.row.name == name;
  });
  if (found != functions.end()) return *found;
  functions.push_back({.row = {.kind = kind, .name = name}});
  return functions.back();
}

GradcheckRow GradcheckFindings::total() const {
  GradcheckRow all;
  for (const CheckedFunction& function : functions) {
    all.examples += function.row.examples;
    all.derivatives += function.row.derivatives;
    all.verdict = worse(all.verdict, function.row.verdict);
  }
  return all;
}

void GradcheckRow::add(const GradcheckReport& report) {
  ++examples;
  derivatives += report.derivatives;
  verdict = worse(verdict, report.verdict());
  for (const FormulaReport& formula : report.formulas) {
    disagreement = larger(disagreement, formula.disagreement);
    resolved_to = larger(resolved_to, formula.resolved_to);
  }
  for (const InputReport& input : report.inputs) {
    if (input.digits == 0.0) continue;
    digits = digits == 0.0 ? input.digits : std::min(digits, input.digits);
  }
}

std::string GradcheckRow::to_text() const {
  return absl::StrFormat(kFormat, kind, named_count(name, absl::StrCat(examples)),
                         absl::StrCat(derivatives), size_text(disagreement), size_text(resolved_to),
                         digits_text(digits), name_of(verdict));
}

std::string gradcheck_table_head() {
  return absl::StrFormat(kFormat, "", named_count("", "examples"), "derivatives", "agrees to",
                         "resolved", "digits", "verdict");
}

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
                         precision_digits(digits), absl::StrFormat("%.2g", ratio),
                         by_rounding(verdict));
}

std::string precision_table_head() {
  return absl::StrFormat(kPrecisionFormat, "", "", "", "", "", "error /", "by rounding") +
         absl::StrFormat(kPrecisionFormat, "", "", "numbers", "kinks", "digits", "bound", "alone?");
}

}  // namespace qkv
