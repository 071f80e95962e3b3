#include "apps/shell/all_verbs.h"
#include "apps/shell/man_page.h"

namespace qkv {
namespace {

void add_man_options(OptionList& /*options*/) {}

absl::Status run_man(const std::string& /*argument*/, const GivenOptions& /*given*/) {
  print(man_page(verb_table(all_verbs())));
  return absl::OkStatus();
}

}  // namespace

Verb man_verb() { return {{"man", "", "prints the manual page"}, add_man_options, run_man}; }

}  // namespace qkv
