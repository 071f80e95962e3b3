#include "apps/report/signs.h"

#include "apps/report/texts/texts.h"
#include "framework/core/error.h"

namespace qkv {

std::string sign_of(FindingResult result) {
  switch (result) {
    case FindingResult::kAgrees:
      return "✓";
    case FindingResult::kDisagrees:
      return "✗";
    case FindingResult::kNotSeen:
      return "–";
    case FindingResult::kUndecided:
      return "?";
  }
  fail("a result without a sign");
}

std::string sign_of(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kHolds:
    case ClaimVerdict::kHoldsIf:
      return "✓";
    case ClaimVerdict::kDoesNotHold:
      return "✗";
    case ClaimVerdict::kNotSupported:
      return "–";
    case ClaimVerdict::kByConstruction:
      return "≡";
    case ClaimVerdict::kNotTrained:
      return "○";
    case ClaimVerdict::kUndecided:
      return "?";
    case ClaimVerdict::kNotTestable:
      return "·";
  }
  fail("a verdict without a sign");
}

Text with_role(const Finding& finding) {
  switch (finding.role) {
    case FindingRole::kEvidence:
      return finding.what;
    case FindingRole::kBeyond:
      return say("{0} (beyond the condition)", finding.what);
    case FindingRole::kPremise:
      return say("{0} (premise)", finding.what);
  }
  fail("a role without a name");
}

Text result_name(FindingResult result) { return say(name_of(result)); }

Text cited(const std::vector<Source>& sources) {
  Text text;
  for (const Source& source : sources) {
    text = text.empty() ? source.cited : say("{0}; {1}", text, source.cited);
  }
  return say("Sources: {0}", text);
}

Text times_differ() { return say("Figures of time differ each run."); }

}  // namespace qkv
