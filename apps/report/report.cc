#include "apps/report/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/report/statistics.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/notes.h"
#include "framework/core/error.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"

namespace qkv {
namespace {

const Finding& finding_named(const Section& section, const std::string& name) {
  const auto found = std::ranges::find(section.findings, name, &Finding::name);
  if (found == section.findings.end()) {
    fail(absl::StrCat("the section ", section.name, " has no finding \"", name, "\""));
  }
  return *found;
}

// "far disagrees"
bool is_so(const Section& section, const std::string& condition) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(condition, absl::MaxSplits(' ', 1));
  const std::optional<FindingResult> result = value_of<FindingResult>(parts.second);
  if (!result) fail(absl::StrCat(section.name, ": no finding can be \"", parts.second, "\""));
  return finding_named(section, parts.first).result == *result;
}

Text with_numbers(const Section& section, Text text) {
  for (const Finding& finding : section.findings) {
    if (finding.name.empty()) continue;
    text = filled_in(text, finding.name, finding.measured);
    text = filled_in(text, finding.name + ".predicted", finding.predicted);
    if (finding.samples.size() != 2) continue;
    text = filled_in(text, finding.name + ".first", format_samples(finding.samples[0]));
    text = filled_in(text, finding.name + ".second", format_samples(finding.samples[1]));
  }
  return text;
}

Text first_that_is_so(const Section& section, const std::vector<Remark>& remarks) {
  for (const Remark& remark : remarks) {
    const auto is_true = [&](const std::string& when) { return is_so(section, when); };
    if (std::ranges::all_of(remark.when, is_true)) return with_numbers(section, remark.text);
  }
  return {};
}

}  // namespace

Text verdict_name(ClaimVerdict verdict) { return say(name_of(verdict)); }

ClaimVerdict Section::verdict() const {
  const auto any = [this](FindingResult result, FindingRole role) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.result == result && finding.role == role;
    });
  };
  using enum FindingResult;
  using enum FindingRole;
  if (!not_testable.empty()) return ClaimVerdict::kNotTestable;
  if (!undecided.empty()) return ClaimVerdict::kUndecided;
  if (any(kDisagrees, kPremise) || any(kNotSeen, kPremise)) return ClaimVerdict::kNotTrained;
  if (any(kUndecided, kPremise)) return ClaimVerdict::kUndecided;
  if (any(kDisagrees, kEvidence)) return ClaimVerdict::kDoesNotHold;
  if (any(kNotSeen, kEvidence)) return ClaimVerdict::kNotSupported;
  if (any(kUndecided, kEvidence)) return ClaimVerdict::kUndecided;
  const bool holds_beyond =
      !any(kDisagrees, kBeyond) && !any(kNotSeen, kBeyond) && !any(kUndecided, kBeyond);
  return holds_beyond ? ClaimVerdict::kHolds : ClaimVerdict::kHoldsIf;
}

Text Section::verdict_text() const {
  const ClaimVerdict verdict = this->verdict();
  if (verdict != ClaimVerdict::kHoldsIf) return verdict_name(verdict);
  const Text condition = this->condition();
  return condition.empty() ? say("holds on a condition") : say("holds if {0}", condition);
}

Text Section::condition() const { return first_that_is_so(*this, conditions); }

Text Section::reason() const {
  const ClaimVerdict verdict = this->verdict();
  if (!is_measured()) return not_testable.empty() ? undecided : not_testable;
  const auto decides = [&](const Finding& finding) {
    using enum FindingResult;
    const bool is_evidence = finding.role == FindingRole::kEvidence;
    switch (verdict) {
      case ClaimVerdict::kNotTrained:
        return finding.role == FindingRole::kPremise && finding.result != kAgrees;
      case ClaimVerdict::kDoesNotHold:
        return is_evidence && finding.result == kDisagrees;
      case ClaimVerdict::kNotSupported:
        return is_evidence && finding.result == kNotSeen;
      case ClaimVerdict::kUndecided:
        return finding.role != FindingRole::kBeyond && finding.result == kUndecided;
      case ClaimVerdict::kHoldsIf:
        return finding.role == FindingRole::kBeyond && finding.result != kAgrees;
      default:
        return is_evidence;
    }
  };
  const auto finding = std::ranges::find_if(findings, decides);
  if (finding == findings.end()) return {};
  const Text text = say("{0}: predicted {1}, measured {2}.", finding->what, finding->predicted,
                        with_interval(*finding));
  return verdict == ClaimVerdict::kHoldsIf ? say("Beyond the condition: {0}", text) : text;
}

Text Section::correction() const {
  const Text found = first_that_is_so(*this, corrections);
  return slip.empty() || found.empty() ? slip + found : say("{0} {1}", slip, found);
}

Text Section::set_right() const {
  const Text right = correction();
  return right.empty() ? right : say("Correction: {0}", right);
}

std::string Section::places() const {
  std::vector<std::string> places;
  for (const Claim& claim : claims) {
    if (std::ranges::find(places, claim.place) == places.end()) places.push_back(claim.place);
  }
  return absl::StrJoin(places, ", ");
}

ClaimVerdict JudgedSentence::verdict() const { return decided_in().verdict(); }

const Section& JudgedSentence::decided_in() const {
  return *std::ranges::max_element(judged_in, {}, [](const auto& judge) {
            return judge.second->verdict();
          })->second;
}

std::vector<JudgedSentence> sentences_of(std::span<const Report> reports) {
  std::vector<JudgedSentence> sentences;
  for (const Report& report : reports) {
    for (const Section& section : report.sections) {
      for (const Claim& claim : section.claims) {
        const auto same = [&](const JudgedSentence& each) { return each.claim.key == claim.key; };
        auto sentence = std::ranges::find_if(sentences, same);
        if (sentence == sentences.end()) {
          sentence = sentences.insert(sentence, JudgedSentence{.claim = claim});
        }
        sentence->judged_in.emplace_back(&report, &section);
      }
    }
  }
  std::ranges::stable_sort(sentences, {},
                           [](const JudgedSentence& each) { return order_of(each.claim); });
  return sentences;
}

std::string report_verdicts(const Report& report, Language language) {
  std::string lines;
  for (const Section& section : report.sections) {
    const std::string line = absl::StrCat(report.name, "  ", section.places(), ": ");
    lines += wrapped(line + section.verdict_text().in(language), text_columns());
  }
  return lines;
}

}  // namespace qkv
