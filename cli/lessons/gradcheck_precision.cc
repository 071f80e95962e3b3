#include "cli/lessons/gradcheck_precision.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/lessons/gradcheck_json.h"
#include "framework/gradcheck/rounding_bound.h"
#include "framework/gradcheck/rounding_rules.h"

namespace qkv {
namespace {

constexpr char kFormat[] = "%-6s %-21s %8s %9s %6s %9s %9s %10s %10s  %s\n";

std::string head() {
  return absl::StrFormat(kFormat, "", "", "", "", "", "error /", "bound", "largest", "its", "") +
         absl::StrFormat(kFormat, "", "", "examples", "compared", "kinks", "median", "largest",
                         "error ulp", "bound ulp", "verdict");
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string short_number(double value) { return absl::StrFormat("%.2g", value); }

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string rules() {
  std::string text = "\nRounding error bound of each op, in units of u (2^-24 in f32):\n";
  for (const RoundingRule& rule : rounding_rules()) {
    absl::StrAppendFormat(&text, "%-18s %s\n", rule.op, rule.errors);
  }
  return text + "A result in bf16 is rounded once more, by 2^-8 |y|, unless it was exact.\n";
}

std::string_view name_of(Precision precision) {
  return precision == Precision::kBf16 ? "bf16" : precision == Precision::kF32 ? "f32" : "f64";
}

}  // namespace

absl::StatusOr<Precision> gradcheck_precision(const std::string& name) {
  for (const Precision precision : {Precision::kF64, Precision::kF32, Precision::kBf16}) {
    if (name == name_of(precision)) return precision;
  }
  return absl::InvalidArgumentError("--precision must be f64, f32 or bf16");
}

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
  return absl::StrFormat(kFormat, kind, name, absl::StrCat(examples), absl::StrCat(compared),
                         absl::StrCat(kinks), short_number(median(ratios)), short_number(largest),
                         short_number(error_ulps), short_number(bound_ulps),
                         std::string(verdict_name(verdict)));
}

void PrecisionChecker::check(const GradcheckSubject& subject, PrecisionOptions options) {
  options.names = subject.input_names;
  const PrecisionReport report = precision_check(subject.f, subject.inputs, options);
  if (precision_ == Precision::kBf16 && report.roundoff < unit_roundoff(DType::bf16)) {
    if (!holds(without_bf16_, subject.name)) without_bf16_.push_back(subject.name);
    return;  // it is the same as in f32
  }
  row_of(subject).add(report);
  if (keeps_json_) {
    checks_.push_back({{"kind", subject.kind},
                       {"name", subject.name},
                       {"example", subject.example},
                       {"seed", options.seed},
                       {"report", to_json(report)}});
  }
  if (report.passed() && !verbose_) return;
  absl::StrAppend(&reports_, "\n", subject.name, ", ", subject.example, ", seed ", options.seed,
                  "\n", report.to_text());
}

std::string PrecisionChecker::text(double seconds) const {
  std::string text = head();
  int64_t compared = 0, examples = 0;
  for (const PrecisionRow& row : rows_) {
    text += row.to_text();
    compared += row.compared;
    examples += row.examples;
  }
  return absl::StrCat(
      text, reports_, verbose_ ? rules() : "", without_bf16(),
      absl::StrFormat("%d numbers of %d %s in %s against f64, in %.1f s: %s\n", compared, examples,
                      examples == 1 ? "example" : "examples", std::string(name_of(precision_)),
                      seconds, status().ok() ? "PASS" : "not passed"));
}

nlohmann::ordered_json PrecisionChecker::json(double seconds) const {
  return {{"passed", status().ok()},
          {"precision", name_of(precision_)},
          {"seconds", seconds},
          {"checks", checks_}};
}

std::string PrecisionChecker::without_bf16() const {
  std::vector<std::string> names;  // some examples of a row may have bf16, and others not
  for (const std::string& name : without_bf16_) {
    if (!holds_row(name)) names.push_back(name);
  }
  if (names.empty()) return "";
  return absl::StrCat("not available in bf16: ", absl::StrJoin(names, ", "), "\n");
}

bool PrecisionChecker::holds_row(const std::string& name) const {
  return std::ranges::find(rows_, name, &PrecisionRow::name) != rows_.end();
}

absl::Status PrecisionChecker::status() const {
  if (rows_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--precision bf16: these have no bf16 version: ",
                                                   absl::StrJoin(without_bf16_, ", ")));
  }
  std::vector<std::string> wrong;
  for (const PrecisionRow& row : rows_) {
    if (row.verdict != Verdict::kPass) wrong.push_back(row.name);
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gradcheck: did not pass: ", absl::StrJoin(wrong, ", ")));
}

PrecisionRow& PrecisionChecker::row_of(const GradcheckSubject& subject) {
  const auto found = std::ranges::find_if(rows_, [&](const PrecisionRow& row) {
    return row.kind == subject.kind && row.name == subject.name;
  });
  if (found != rows_.end()) return *found;
  rows_.push_back({.kind = subject.kind, .name = subject.name});
  return rows_.back();
}

}  // namespace qkv
