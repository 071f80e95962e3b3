// How a measurement agrees with its prediction.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "apps/report/report.h"
#include "apps/report/statistics.h"
#include "apps/report/texts/texts.h"

namespace qkv {
namespace {

FindingResult result_if(bool agrees) {
  return agrees ? FindingResult::kAgrees : FindingResult::kDisagrees;
}

// Whether a mean lies from `low` to `high`; undecided where its 95 % interval does so in part.
FindingResult inside(const Measurement& measured, double low, double high) {
  if (low <= measured.low && measured.high <= high) return FindingResult::kAgrees;
  const bool may_be = measured.low <= high && low <= measured.high;
  return may_be ? FindingResult::kUndecided : FindingResult::kDisagrees;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> differences_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return differences;
}

Text both_of(std::span<const double> a, std::span<const double> b) {
  return say("{0} and {1}", format_samples(a), format_samples(b));
}

// Beside a bound, that itself counts or does not.
Finding beside(Text what, Text predicted, const Measurement& measured, FindingResult result) {
  Finding finding = found(std::move(what), std::move(predicted), measured, true);
  finding.result = result;
  return finding;
}

double above_it(double bound) { return std::nextafter(bound, kInfinity); }
double below_it(double bound) { return std::nextafter(bound, -kInfinity); }

}  // namespace

Measurement::Measurement(double number) : low(number), high(number), text(format_number(number)) {}
Measurement::Measurement(const std::vector<double>& all) : text(format_samples(all)), samples(all) {
  const double spread = error_of_mean(all) * errors_of_95_percent(all.size());
  low = all.size() > 1 ? mean_of(all) - spread : -kInfinity;
  high = all.size() > 1 ? mean_of(all) + spread : kInfinity;
}

Finding exact(Text what, double predicted, double measured, double tolerance) {
  const double difference = std::abs(measured - predicted);
  return {
      .what = std::move(what),
      .predicted = format_number(predicted),
      .measured = say("{0} (differs by {1})", format_number(measured), format_number(difference)),
      .result = result_if(difference <= tolerance),
      .predicted_number = predicted,
      .samples = {{measured}}};
}

Finding same(Text what, double difference, double tolerance) {
  return {.what = std::move(what),
          .predicted = say("the same"),
          .measured = say("differs by {0}", format_number(difference)),
          .result = result_if(std::abs(difference) <= tolerance),
          .predicted_number = 0,
          .samples = {{difference}}};
}

Finding near(Text what, double predicted, const Measurement& measured, double tolerance) {
  const double allowed = tolerance * std::abs(predicted);
  Finding finding = beside(std::move(what), format_number(predicted), measured,
                           inside(measured, predicted - allowed, predicted + allowed));
  finding.predicted_number = predicted;
  return finding;
}

Finding larger(Text what, std::span<const double> a, std::span<const double> b) {
  const Measurement difference(differences_of(a, b));
  const FindingResult unseen =
      a.size() < kFewestSeeds ? FindingResult::kUndecided : FindingResult::kNotSeen;
  return {.what = std::move(what),
          .predicted = say("the first is larger"),
          .measured = both_of(a, b),
          .result = difference.low > 0    ? FindingResult::kAgrees
                    : difference.high < 0 ? FindingResult::kDisagrees
                                          : unseen,
          .samples = {{a.begin(), a.end()}, {b.begin(), b.end()}}};
}

Finding alike(Text what, std::span<const double> a, std::span<const double> b, double tolerance) {
  return {.what = std::move(what),
          .predicted = say("differ by at most {0}", format_number(tolerance)),
          .measured = both_of(a, b),
          .result = inside(Measurement(differences_of(a, b)), -tolerance, tolerance),
          .samples = {{a.begin(), a.end()}, {b.begin(), b.end()}}};
}

Finding found(Text what, Text predicted, Text measured, bool agrees) {
  return {.what = std::move(what),
          .predicted = std::move(predicted),
          .measured = std::move(measured),
          .result = result_if(agrees)};
}

Finding found(Text what, Text predicted, const Measurement& measured, bool agrees) {
  Finding finding = found(std::move(what), std::move(predicted), measured.text, agrees);
  if (!measured.samples.empty()) finding.samples = {measured.samples};
  return finding;
}

Finding above(Text what, double bound, const Measurement& measured) {
  return beside(std::move(what), say("above {0}", format_number(bound)), measured,
                inside(measured, above_it(bound), kInfinity));
}

Finding below(Text what, double bound, const Measurement& measured) {
  return beside(std::move(what), say("below {0}", format_number(bound)), measured,
                inside(measured, -kInfinity, below_it(bound)));
}

Finding at_least(Text what, double bound, const Measurement& measured) {
  return beside(std::move(what), say("at least {0}", format_number(bound)), measured,
                inside(measured, bound, kInfinity));
}

Finding at_most(Text what, double bound, const Measurement& measured) {
  return beside(std::move(what), say("at most {0}", format_number(bound)), measured,
                inside(measured, -kInfinity, bound));
}

Finding between(Text what, double low, double high, const Measurement& measured) {
  return beside(std::move(what), absl::StrCat(format_number(low), " … ", format_number(high)),
                measured, inside(measured, low, high));
}

Finding differ(Text what, double difference, double least) {
  return found(std::move(what), say("differ"), format_number(difference), difference > least);
}

Finding beyond(Finding finding) {
  finding.role = FindingRole::kBeyond;
  return finding;
}

Finding premise(Finding finding) {
  finding.role = FindingRole::kPremise;
  return finding;
}

Finding named(std::string name, Finding finding) {
  finding.name = std::move(name);
  return finding;
}

}  // namespace qkv
