#include "lessons/report/signs.h"

#include <map>

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

Text role_of(const Finding& finding) {
  switch (finding.role) {
    case FindingRole::kEvidence:
      return {};
    case FindingRole::kBeyond:
      return {" (beyond the condition)", "（条件之外）"};
    case FindingRole::kPremise:
      return {" (premise)", "（前提）"};
  }
  fail("a role without a name");
}

Text result_name(FindingResult result) {
  static const std::map<FindingResult, std::string> kChinese = {
      {FindingResult::kAgrees, "相符"},
      {FindingResult::kDisagrees, "不符"},
      {FindingResult::kNotSeen, "未见"},
      {FindingResult::kUndecided, "尚无定论"}};
  return {name_of(result), kChinese.at(result)};
}

Text cited(const std::vector<Source>& sources) {
  Text text;
  for (const Source& source : sources) {
    text = text + (text.empty() ? Text{"Sources: ", "文献："} : Text{"; ", "；"}) + source.cited;
  }
  return text;
}

const Text kTimesDiffer = {"Figures of time differ each run.", "时间的数值每次运行都不同。"};

}  // namespace qkv
