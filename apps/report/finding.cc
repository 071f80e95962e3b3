#include <algorithm>
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
FindingResult result_of(const Measurement& measured, double low, double high) {
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

// Whether what is measured lies from `low` to `high`.
Finding inside(Text what, Text predicted, const Measurement& measured, double low, double high) {
  Finding finding = found(std::move(what), std::move(predicted), measured, true);
  finding.interval = measured.interval();
  finding.result = result_of(measured, low, high);
  finding.chance = measured.chance(low, high);
  return finding;
}

// Whether the differences of what is compared do.
Finding compared(Text what, Text predicted, std::span<const double> a, std::span<const double> b,
                 double low, double high) {
  const Measurement difference(differences_of(a, b));
  Finding finding = inside(std::move(what), std::move(predicted), difference, low, high);
  finding.measured = say("{0} and {1}", format_samples(a), format_samples(b));
  if (!finding.interval.empty()) finding.interval = say("difference {0}", finding.interval);
  finding.samples = {{a.begin(), a.end()}, {b.begin(), b.end()}};
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

Text Measurement::interval() const {
  if (samples.size() < 2 || low == high) return {};
  return absl::StrCat(format_number(low), " … ", format_number(high));
}

double Measurement::chance(double least, double most) const {
  if (samples.size() < 2 || low == high) return 0;
  const double mean = mean_of(samples);
  const double nearer = std::min(std::abs(mean - least), std::abs(mean - most));
  return chance_of(nearer / error_of_mean(samples), samples.size());
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
  Finding finding = inside(std::move(what), format_number(predicted), measured, predicted - allowed,
                           predicted + allowed);
  finding.predicted_number = predicted;
  return finding;
}

Finding larger(Text what, std::span<const double> a, std::span<const double> b) {
  Finding finding =
      compared(std::move(what), say("the first is larger"), a, b, above_it(0), kInfinity);
  const bool are_one = std::ranges::equal(a, b);
  if (a.size() >= kFewestSeeds) finding.by_chance = FindingResult::kNotSeen;
  if (are_one || finding.result == FindingResult::kUndecided) finding.result = finding.by_chance;
  return finding;
}

Finding alike(Text what, std::span<const double> a, std::span<const double> b, double tolerance) {
  const Text predicted = say("differ by at most {0}", format_number(tolerance));
  return compared(std::move(what), predicted, a, b, -tolerance, tolerance);
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
  return inside(std::move(what), say("above {0}", format_number(bound)), measured, above_it(bound),
                kInfinity);
}

Finding below(Text what, double bound, const Measurement& measured) {
  return inside(std::move(what), say("below {0}", format_number(bound)), measured, -kInfinity,
                below_it(bound));
}

Finding at_least(Text what, double bound, const Measurement& measured) {
  return inside(std::move(what), say("at least {0}", format_number(bound)), measured, bound,
                kInfinity);
}

Finding at_most(Text what, double bound, const Measurement& measured) {
  return inside(std::move(what), say("at most {0}", format_number(bound)), measured, -kInfinity,
                bound);
}

Finding between(Text what, double low, double high, const Measurement& measured) {
  return inside(std::move(what), absl::StrCat(format_number(low), " … ", format_number(high)),
                measured, low, high);
}

Finding differ(Text what, double difference, double least) {
  return found(std::move(what), say("differ"), format_number(difference), difference > least);
}

void Report::correct_for_chance() {
  std::vector<Finding*> measured;
  for (Section& section : sections) {
    for (Finding& finding : section.findings) {
      if (!finding.interval.empty()) measured.push_back(&finding);
    }
  }
  std::ranges::sort(measured, {}, &Finding::chance);
  auto left = static_cast<double>(measured.size());
  bool may_be_chance = false;
  for (Finding* const finding : measured) {
    may_be_chance |= finding->chance > 0.05 / left--;
    if (may_be_chance) finding->result = finding->by_chance;
  }
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
