#include "lessons/report/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/columns.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

FindingResult agreement_if(bool agrees) {
  return agrees ? FindingResult::kAgrees : FindingResult::kDisagrees;
}

}  // namespace

Finding exact(std::string what, double predicted, double measured, double tolerance) {
  const double difference = std::abs(measured - predicted);
  return {.what = std::move(what),
          .predicted = format_number(predicted),
          .measured = absl::StrCat(format_number(measured), " (differs by ",
                                   format_number(difference), ")"),
          .agreement = agreement_if(difference <= tolerance),
          .predicted_number = predicted,
          .samples = {{measured}}};
}

Finding same(std::string what, double difference, double tolerance) {
  return {.what = std::move(what),
          .predicted = "the same",
          .measured = absl::StrCat("differs by ", format_number(difference)),
          .agreement = agreement_if(std::abs(difference) <= tolerance),
          .predicted_number = 0,
          .samples = {{difference}}};
}

Finding near(std::string what, double predicted, std::span<const double> samples,
             double tolerance) {
  const double difference = std::abs(mean_of(samples) - predicted);
  const double allowed = std::max(3 * error_of_mean(samples), tolerance * std::abs(predicted));
  return {.what = std::move(what),
          .predicted = format_number(predicted),
          .measured = format_samples(samples),
          .agreement = agreement_if(difference <= allowed),
          .predicted_number = predicted,
          .samples = {{samples.begin(), samples.end()}}};
}

Finding larger(std::string what, std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const double mean = mean_of(differences), error = error_of_mean(differences);
  const bool decided =
      differences.size() > 1 && std::abs(mean) > errors_of_95_percent(differences.size()) * error;
  return {.what = std::move(what),
          .predicted = "the first is larger",
          .measured = absl::StrCat(format_samples(a), " and ", format_samples(b)),
          .agreement = decided ? agreement_if(mean > 0) : FindingResult::kUndecided,
          .samples = {{a.begin(), a.end()}, {b.begin(), b.end()}}};
}

Finding found(std::string what, std::string predicted, std::string measured, bool agrees) {
  return {.what = std::move(what),
          .predicted = std::move(predicted),
          .measured = std::move(measured),
          .agreement = agreement_if(agrees)};
}

Finding found(std::string what, std::string predicted, const Measurement& measured, bool agrees) {
  return found(std::move(what), std::move(predicted), measured.text, agrees);
}

Measurement::Measurement(double number) : value(number), text(format_number(number)) {}
Measurement::Measurement(const std::vector<double>& samples)
    : value(mean_of(samples)), text(format_samples(samples)) {}

Finding above(std::string what, double bound, const Measurement& measured) {
  return found(std::move(what), absl::StrCat("above ", format_number(bound)), measured.text,
               measured.value > bound);
}

Finding below(std::string what, double bound, const Measurement& measured) {
  return found(std::move(what), absl::StrCat("below ", format_number(bound)), measured.text,
               measured.value < bound);
}

Finding at_least(std::string what, double bound, const Measurement& measured) {
  return found(std::move(what), absl::StrCat("at least ", format_number(bound)), measured.text,
               measured.value >= bound);
}

Finding at_most(std::string what, double bound, const Measurement& measured) {
  return found(std::move(what), absl::StrCat("at most ", format_number(bound)), measured.text,
               measured.value <= bound);
}

Finding between(std::string what, double low, double high, const Measurement& measured) {
  return found(std::move(what), absl::StrCat(format_number(low), " … ", format_number(high)),
               measured, low <= measured.value && measured.value <= high);
}

Finding differ(std::string what, double difference, double least) {
  return found(std::move(what), "differ", format_number(difference), difference > least);
}

Finding beyond(Finding finding) {
  finding.in_condition = false;
  return finding;
}

ClaimVerdict Section::verdict() const {
  const auto any = [this](FindingResult agreement, bool in_condition) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.agreement == agreement && finding.in_condition == in_condition;
    });
  };
  if (any(FindingResult::kDisagrees, true)) return ClaimVerdict::kDoesNotHold;
  if (any(FindingResult::kUndecided, true)) return ClaimVerdict::kNotSupported;
  const bool holds_beyond =
      !any(FindingResult::kDisagrees, false) && !any(FindingResult::kUndecided, false);
  return holds_beyond ? ClaimVerdict::kHolds : ClaimVerdict::kHoldsIf;
}

std::string Section::verdict_text() const {
  const ClaimVerdict verdict = this->verdict();
  const std::string name = name_of(verdict);
  return verdict == ClaimVerdict::kHoldsIf ? absl::StrCat(name, " ", condition) : name;
}

std::string Section::set_right() const {
  return correction.empty() ? "" : absl::StrCat("Set right: ", correction);
}

std::string Section::places() const {
  std::vector<std::string> places;
  for (const Claim& claim : claims) {
    if (std::ranges::find(places, claim.place) == places.end()) places.push_back(claim.place);
  }
  return absl::StrJoin(places, ", ");
}

std::string report_verdicts(const Report& report) {
  std::string lines;
  for (const Section& section : report.sections) {
    const std::string line = absl::StrCat(report.name, "  ", section.places(), ": ");
    lines += wrapped(line + section.verdict_text(), kTerminalColumns);
  }
  return lines;
}

}  // namespace qkv
