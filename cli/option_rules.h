#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

class GivenOptions;

// Which options of a verb may stand beside each other, so that each that is given does something.
// An option is named as "json", as "json=-" or "export=*.png" where it has such a value, and the
// arguments as "RUN".
class OptionRules {
 public:
  using Names = std::vector<std::string>;

  void may_repeat(const std::string& name) { repeated_.insert(name); }
  bool repeats(const std::string& name) const { return repeated_.contains(name); }
  // Each of these with each of the others, for the reason `why`; one of `unless` allows them.
  void exclude(const Names& these, const Names& others, const std::string& why = "",
               const Names& unless = {});
  void need(const Names& these, const std::string& other) { exclude(these, {}, "", {other}); }
  void allow_only(const std::string& name, Names values) { allowed_[name] = std::move(values); }

  // The first rule that the options break.
  absl::Status check(const GivenOptions& given) const;

 private:
  struct Rule {
    std::string name, why;
    Names others, unless;  // no others: it needs one of `unless`, whatever stands beside it
  };

  std::set<std::string> repeated_;
  std::map<std::string, Names> allowed_;
  std::vector<Rule> rules_;
};

}  // namespace qkv
