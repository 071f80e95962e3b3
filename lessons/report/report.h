#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/names.h"
#include "lessons/report/figure.h"

namespace qkv {

// A sentence of the lecture notes on self-attention.
struct Claim {
  std::string place;    // the note and the line in it: "A37"
  std::string chinese;  // as it stands there, without the signs of Markdown and TeX
  std::string english;
};

enum class FindingResult { kAgrees, kDisagrees, kUndecided };
template <>
inline constexpr Named<FindingResult> kNames<FindingResult>[] = {
    {"agrees", FindingResult::kAgrees},
    {"disagrees", FindingResult::kDisagrees},
    {"undecided", FindingResult::kUndecided}};

// What follows from a claim, beside what was measured.
struct Finding {
  std::string what;       // "variance of q·k, d = 64"
  std::string predicted;  // "64"
  std::string measured;   // "63.8 ± 1.2"
  FindingResult agreement = FindingResult::kAgrees;
  bool in_condition = true;  // whether the section's condition is met here
  // For programs, where there are any: the number that was predicted, and what was measured with
  // each seed; of two things that are compared, both.
  std::optional<double> predicted_number = {};
  std::vector<std::vector<double>> samples = {};
};

// Equal to `predicted` but for rounding: |difference| at most `tolerance`.
Finding exact(std::string what, double predicted, double measured, double tolerance = 1e-12);
// The largest difference of two ways to the same numbers: at most `tolerance`.
Finding same(std::string what, double difference, double tolerance = 1e-12);
// The mean over the samples is `predicted`, within three errors of the mean or so large a share of
// it as `tolerance`.
Finding near(std::string what, double predicted, std::span<const double> samples,
             double tolerance = 0.05);
// Sample by sample, with the same seeds, `a` is larger than `b`. Undecided where the mean of the
// differences could be zero with 95 % confidence, and of a single pair.
Finding larger(std::string what, std::span<const double> a, std::span<const double> b);
// What is measured: a number, or samples, of which the mean counts.
struct Measurement {
  Measurement(double number);                       // NOLINT(google-explicit-constructor)
  Measurement(const std::vector<double>& samples);  // NOLINT(google-explicit-constructor)

  double value;
  std::string text;
};
// Beside a bound that is known before.
Finding above(std::string what, double bound, const Measurement& measured);
Finding below(std::string what, double bound, const Measurement& measured);
Finding at_least(std::string what, double bound, const Measurement& measured);
Finding at_most(std::string what, double bound, const Measurement& measured);
Finding between(std::string what, double low, double high, const Measurement& measured);
// The very same number.
template <class A, class B>
Finding equal(std::string what, A predicted, B measured) {
  return exact(std::move(what), static_cast<double>(predicted), static_cast<double>(measured), 0);
}
// Two ways that come to different numbers.
Finding differ(std::string what, double difference, double least = 1e-3);
// Whatever else.
Finding found(std::string what, std::string predicted, std::string measured, bool agrees);
Finding found(std::string what, std::string predicted, const Measurement& measured, bool agrees);

// The same finding where the condition of its section is not met.
Finding beyond(Finding finding);

enum class ClaimVerdict { kHolds, kHoldsIf, kDoesNotHold, kNotSupported };
template <>
inline constexpr Named<ClaimVerdict> kNames<ClaimVerdict>[] = {
    {"holds", ClaimVerdict::kHolds},
    {"holds if", ClaimVerdict::kHoldsIf},
    {"does not hold", ClaimVerdict::kDoesNotHold},
    {"not supported", ClaimVerdict::kNotSupported}};

// Claims that one measurement judges.
struct Section {
  std::vector<Claim> claims;
  std::string formula = {};  // S = Q Kᵀ / √d_k
  std::string prediction;    // in a sentence: what follows from the claims
  std::vector<Finding> findings = {};
  std::vector<Figure> figures = {};
  std::string condition = {};   // of "holds if": "their mean is 0"
  std::string correction = {};  // how the sentence should read, where it is a slip

  void add(Finding finding) { findings.push_back(std::move(finding)); }
  void show(Figure figure) { figures.push_back(std::move(figure)); }

  // If a finding where the condition is met disagrees: does not hold; else, if one is undecided:
  // not supported. Else the claim holds, or "holds if", where a finding beyond the condition
  // disagrees or is undecided.
  ClaimVerdict verdict() const;
  std::string places() const;        // "A37, C121"
  std::string verdict_text() const;  // with the condition, where it matters
  std::string set_right() const;     // "Set right: …"; "" where nothing is
};

struct Report {
  std::string name, question;
  std::string control = {};    // what was taken out of it; "": nothing
  bool measures_time = false;  // its figures of time differ each run
  std::vector<std::pair<std::string, std::string>> options = {};  // name and value
  std::vector<Section> sections = {};
};

std::string report_text(const Report& report);  // for a terminal of 80 columns
std::string report_json(const Report& report);
// HTML that needs nothing else; `beside_index`: it has a link to the index.html in its folder.
std::string report_page(const Report& report, bool beside_index = false);

// A line for each section: its claims and its verdict.
std::string report_verdicts(const Report& report);
// HTML with the verdicts of all, and links to NAME.html of each.
std::string index_page(const std::vector<Report>& reports);
// Markdown: the notes in their order, claim by claim, with the slips set right.
std::string lecture_notes(const std::vector<Report>& reports);

}  // namespace qkv
