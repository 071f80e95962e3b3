#include "apps/check/precision_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr char kPrecisionFormat[] = "%-6s%-21s %7s %5s %7s %7s %6s %6s %s\n";  // 80 columns

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string short_number(double value) {
  const std::string text = absl::StrFormat("%.2g", value);  // "1.3e+02"
  return value >= 100 && value < 1e6 ? absl::StrCat(std::stod(text)) : text;
}

}  // namespace

void PrecisionRow::add(const PrecisionReport& report) {
  ++examples;
  compared += report.compared();
  kinks += report.kinks;
  verdict = worse(verdict, report.verdict());
  for (const ResultPrecision& result : report.results) {
    for (const ElementPrecision& e : result.elements) {
      ratios.push_back(e.ratio());
      if (!e.has_sure_digits() || !(e.error > error_ulps * e.ulp)) continue;
      error_ulps = e.error / e.ulp;
      bound_ulps = e.bound / e.ulp;
    }
  }
}

std::string PrecisionRow::to_text() const {
  const double largest = ratios.empty() ? 0.0 : *std::ranges::max_element(ratios);
  return absl::StrFormat(kPrecisionFormat, kind, name, absl::StrCat(compared), absl::StrCat(kinks),
                         short_number(median(ratios)), short_number(largest),
                         short_number(error_ulps), short_number(bound_ulps),
                         std::string(verdict_name(verdict)));
}

std::string precision_table_head() {
  return absl::StrFormat(kPrecisionFormat, "", "", "", "", "error /", "bound", "error", "bound",
                         "") +
         absl::StrFormat(kPrecisionFormat, "", "", "numbers", "kinks", "median", "largest", "ulps",
                         "ulps", "verdict");
}

}  // namespace qkv
