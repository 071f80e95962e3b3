#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/report/figure.h"
#include "apps/report/texts/text.h"
#include "framework/core/text/names.h"

namespace qkv {

// A sentence of the lecture notes on self-attention.
struct Claim {
  std::string key;      // "D6-2", the second of several sentences of one line
  std::string place;    // the note and the line in it: "D6"
  std::string chinese;  // as it stands there, without the signs of Markdown and TeX
  std::string english;

  Text text() const { return {english, chinese}; }
};

// An identity or a convention of the notes. It cannot come out otherwise, so it has no verdict.
struct Definition {
  std::string places;   // "A27, B35"
  std::string formula;  // "p_i = e^z_i / Σ_c e^z_c"
  std::string name;     // of the function or the type that computes it: "softmax"
  std::string file;     // where that stands: "framework/ops/softmax.cc"
  Text remark = {};     // how the note should write it, or read
};

// A work of the literature: "Vaswani et al. 2017, table 3".
struct Source {
  std::string cited;
  std::string url;
};

// kNotSeen: an effect that was predicted did not show, in enough repetitions that it could have.
// kUndecided: there are too few of them, or they differ too much.
enum class FindingResult { kAgrees, kDisagrees, kNotSeen, kUndecided };
template <>
inline constexpr Named<FindingResult> kNames<FindingResult>[] = {
    {"agrees", FindingResult::kAgrees},
    {"disagrees", FindingResult::kDisagrees},
    {"not seen", FindingResult::kNotSeen},
    {"undecided", FindingResult::kUndecided}};

// The role of a finding in the verdict of its section.
enum class FindingRole {
  kEvidence,  // where the condition of the section is met
  kBeyond,    // where it is not
  kPremise,   // a precondition of the others: that a model has learned its task
};

// The prediction of a claim, beside the measurement.
struct Finding {
  Text what;           // "variance of q·k, d = 64"
  Text predicted;      // "64"
  Text measured;       // "63.8 ± 1.2"
  Text interval = {};  // of 95 %, of the mean or of paired differences: "63 … 64.7"
  FindingResult result = FindingResult::kAgrees;
  FindingRole role = FindingRole::kEvidence;
  std::string name = {};  // by which the texts of its section speak of it
  // For programs, where there are any: the predicted number, and the measured one for each seed; of
  // two things compared, both.
  std::optional<double> predicted_number = {};
  std::vector<std::vector<double>> samples = {};
  // The probability that chance makes the samples as clear as this, and the result where it may.
  double chance = 0;
  FindingResult by_chance = FindingResult::kUndecided;
};

// This many differences have one sign by chance in fewer than 1 of 20 cases (1/2^5 < 0.05): with
// fewer seeds, seeing no effect proves nothing.
inline constexpr size_t kFewestSeeds = 5;

// Equal to `predicted` but for rounding: |difference| at most `tolerance`.
Finding exact(Text what, double predicted, double measured, double tolerance = 1e-12);
// The largest difference of two ways to the same numbers: at most `tolerance`.
Finding same(Text what, double difference, double tolerance = 1e-12);
// A measurement: a number, or samples, whose mean counts. `low` … `high` has the true mean in it
// with 95 % confidence: of a number itself, of a single sample any number.
struct Measurement {
  Measurement(double number);                       // NOLINT(google-explicit-constructor)
  Measurement(const std::vector<double>& samples);  // NOLINT(google-explicit-constructor)

  double low, high;
  Text text;
  std::vector<double> samples = {};

  Text interval() const;  // "" of a number, and where all samples are one
  // That its mean lies on the other side of the nearer of these bounds.
  double chance(double least, double most) const;
};
// The mean differs from `predicted` by at most so large a share of it as `tolerance`: all of its 95
// % lie there. It disagrees where none do; where some do it is undecided.
Finding near(Text what, double predicted, const Measurement& measured, double tolerance = 0.05);
// Sample by sample, with the same seeds, `a` is larger than `b`: by the 95 % of the mean of the
// differences. Not seen where that has zero in it.
Finding larger(Text what, std::span<const double> a, std::span<const double> b);
// Sample by sample, with the same seeds, `a` and `b` differ by at most `tolerance` in the mean: all
// of the 95 % lie there. It disagrees where none do; where some do it is undecided.
Finding alike(Text what, std::span<const double> a, std::span<const double> b, double tolerance);
// Beside a bound that is known before. It agrees where all of the 95 % lie on the right side of the
// bound, disagrees where none do, and is undecided where some do.
Finding above(Text what, double bound, const Measurement& measured);
Finding below(Text what, double bound, const Measurement& measured);
Finding at_least(Text what, double bound, const Measurement& measured);
Finding at_most(Text what, double bound, const Measurement& measured);
Finding between(Text what, double low, double high, const Measurement& measured);
// The very same number.
template <class A, class B>
Finding equal(Text what, A predicted, B measured) {
  return exact(std::move(what), static_cast<double>(predicted), static_cast<double>(measured), 0);
}
// Two ways that come to different numbers.
Finding differ(Text what, double difference, double least = 1e-3);
// Whatever else.
Finding found(Text what, Text predicted, Text measured, bool agrees);
Finding found(Text what, Text predicted, const Measurement& measured, bool agrees);

// The same finding in another role, or with a name.
Finding beyond(Finding finding);
Finding premise(Finding finding);
Finding named(std::string name, Finding finding);

enum class ClaimVerdict {
  kNotTestable,  // here; what the literature says instead is in the section
  kHolds,
  kHoldsIf,
  kUndecided,     // too few seeds; or nothing here measures it
  kNotTrained,    // a premise is not met
  kNotSupported,  // the predicted effect did not show
  kDoesNotHold,
};
template <>
inline constexpr Named<ClaimVerdict> kNames<ClaimVerdict>[] = {
    {"holds", ClaimVerdict::kHolds},
    {"holds if", ClaimVerdict::kHoldsIf},
    {"does not hold", ClaimVerdict::kDoesNotHold},
    {"not supported", ClaimVerdict::kNotSupported},
    {"not trained", ClaimVerdict::kNotTrained},
    {"undecided", ClaimVerdict::kUndecided},
    {"not testable here", ClaimVerdict::kNotTestable}};
Text verdict_name(ClaimVerdict verdict);

// A sentence that is true where findings are as it says: {"far disagrees", "near agrees"}. In its
// text {far} stands for the measurement of the finding far, {far.first} and {far.second} for each
// of two that are compared, {far.predicted} for the prediction.
struct Remark {
  std::vector<std::string> when = {};
  Text text;
};

// Claims that one measurement judges.
struct Section {
  std::string name = {};  // "variance"
  std::vector<Claim> claims;
  Text formula = {};  // S = Q Kᵀ / √d_k, as page/formula.js reads it
  Text prediction;    // in a sentence, from the claims
  std::vector<Finding> findings = {};
  std::vector<Figure> figures = {};
  std::vector<Remark> conditions = {};   // of "holds if": "their mean is 0"
  std::vector<Remark> corrections = {};  // how the sentence should read
  Text slip = {};                        // how it should be written, where that is all
  Text not_testable = {};                // why, and what the literature says
  Text undecided = {};                   // of what nothing here measures: what it would take
  std::vector<Source> sources = {};
  std::string control_name = {};  // which control of its lab is its own
  Text control = {};              // the part left out, in a control

  void add(Finding finding) { findings.push_back(std::move(finding)); }
  void show(Figure figure) { figures.push_back(std::move(figure)); }

  bool is_measured() const { return not_testable.empty() && undecided.empty(); }

  // The first of these that is so. Not testable, undecided: it says why. Not trained, undecided: so
  // is a premise. Does not hold, not supported, undecided: so is a finding where the condition is
  // met. Holds if: one beyond the condition does not agree. Holds.
  ClaimVerdict verdict() const;
  std::string places() const;  // "A37, C121"
  Text condition() const;      // of "holds if"
  Text verdict_text() const;   // with the condition, where it matters
  Text reason() const;         // the finding that decides, in a sentence
  Text correction() const;     // how the sentence should read; "" where it may stand
  Text set_right() const;      // "Correction: …"; "" where nothing is
};

struct Report {
  std::string name;
  Text question;
  bool is_control = false;     // each section without the part that its `control` names
  bool measures_time = false;  // its figures of time differ each run
  std::vector<std::pair<std::string, std::string>> options = {};  // name and value
  std::vector<Section> sections = {};

  // The more findings a report has, the more of them are chance. Holm's correction: the k-th
  // clearest of n findings counts where its probability by chance is at most 0.05 / (n - k + 1),
  // and those that are clearer do; the others are not decided.
  void correct_for_chance();
};

// A sentence of the notes, and all sections that judge it.
struct JudgedSentence {
  Claim claim;
  std::vector<std::pair<const Report*, const Section*>> judged_in = {};

  // The last in the order of ClaimVerdict: a sentence holds as a whole where no section denies it.
  ClaimVerdict verdict() const;
  const Section& decided_in() const;  // the first section with that verdict
};
// In the order of the notes and their lines. They point into the reports.
std::vector<JudgedSentence> sentences_of(std::span<const Report> reports);

// A piece of a teacher's own note: text, and behind it a sentence that a lab judges, or one section
// of it. Without a lab it ends a line.
struct NotePart {
  std::string plain;
  std::string sentence = {}, lab = {}, section = {};
};

std::string report_text(const Report& report, Language language);  // 80 columns of a terminal
std::string report_json(const Report& report, Language language);
// HTML that needs nothing else; `beside_index`: it has links to the index and to the notes in its
// folder. It is there in both languages, and begins with `language`.
std::string report_page(const Report& report, Language language, bool beside_index = false);

// A line for each section: its claims and its verdict.
std::string report_verdicts(const Report& report, Language language);
// HTML with the verdicts of all, links to NAME.html of each and to each note, and the definitions.
std::string index_page(const std::vector<Report>& reports,
                       const std::vector<Definition>& definitions, Language language);
// HTML of a lecture note, by its letter: its sentences in their order, each with its verdict.
std::string note_page(const std::vector<Report>& reports, char note, Language language);
// HTML of the reader's own note, by its name: the verdicts stand beside its sentences, with links
// to NAME.html of their labs.
std::string own_note_page(const std::string& name, const std::vector<NotePart>& parts,
                          const std::vector<Report>& reports, Language language);
// Markdown: a row for each section, in the order of the notes, with the corrections; and the
// definitions.
std::string lecture_notes(const std::vector<Report>& reports,
                          const std::vector<Definition>& definitions, Language language);

}  // namespace qkv
