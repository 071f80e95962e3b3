#include "apps/check/findings.h"

#include <algorithm>

namespace qkv {

CheckedFunction& GradcheckFindings::function(const std::string& kind, const std::string& name) {
  const auto found = std::ranges::find_if(functions, [&](const CheckedFunction& each) {
    return each.row.kind == kind && each.row.name == name;
  });
  if (found != functions.end()) return *found;
  functions.push_back({.row = {.kind = kind, .name = name}});
  return functions.back();
}

GradcheckRow GradcheckFindings::total() const {
  GradcheckRow all;
  for (const CheckedFunction& function : functions) {
    all.examples += function.row.examples;
    all.derivatives += function.row.derivatives;
    all.verdict = worse(all.verdict, function.row.verdict);
  }
  return all;
}

}  // namespace qkv
