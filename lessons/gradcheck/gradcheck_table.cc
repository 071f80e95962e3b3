#include "lessons/gradcheck/gradcheck_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr char kFormat[] = "%-6s %-20s %8s %11s %6s %6s %10s  %s\n";

}  // namespace

double share_of_tolerance(const Agreement& a) {
  if (!std::isfinite(a.error)) return std::numeric_limits<double>::infinity();
  return a.tolerance > 0.0 ? a.error / a.tolerance : 0.0;
}

void GradcheckRow::add(const GradcheckReport& report) {
  ++examples;
  derivatives += report.derivatives;
  verdict = worse(verdict, report.verdict());
  for (const InputReport& input : report.inputs) {
    structural_zeros += input.structural_zeros;
    kinks += input.kinks_stepped_around;
    missed = std::max(missed, input.blocks.missed);
    for (const ElementReport& e : input.worst) worst = std::max(worst, share_of_tolerance(e));
  }
}

std::string GradcheckRow::to_text() const {
  return absl::StrFormat(kFormat, kind, name, absl::StrCat(examples), absl::StrCat(derivatives),
                         absl::StrCat(structural_zeros), absl::StrCat(kinks),
                         absl::StrFormat("%.1e", worst), std::string(verdict_name(verdict)));
}

std::string gradcheck_table_head() {
  return absl::StrFormat(kFormat, "", "", "examples", "derivatives", "zeros", "kinks", "error/tol.",
                         "verdict");
}

}  // namespace qkv
