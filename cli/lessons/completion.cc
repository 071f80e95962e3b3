#include "cli/completion.h"

#include <algorithm>

#include "cli/lessons/verbs.h"
#include "cli/man_page.h"
#include "cli/verbs.h"

namespace qkv {
namespace {

// Those of both programs.
std::vector<VerbEntry> all_verbs() {
  std::vector<VerbEntry> verbs = verb_table(kVerbs);
  std::ranges::move(verb_table(kLessonVerbs), std::back_inserter(verbs));
  return verbs;
}

void add_completion_options(OptionList& options) {
  options.choices("", [] { return std::vector<std::string>{"bash", "zsh", "fish"}; });
}

absl::Status run_completion(const std::string& shell, const GivenOptions& /*given*/) {
  const std::vector<VerbEntry> verbs = all_verbs();
  if (shell == "bash") {
    print(bash_completion(verbs));
  } else if (shell == "zsh") {
    print(zsh_completion(verbs));
  } else if (shell == "fish") {
    print(fish_completion(verbs));
  } else {
    return absl::InvalidArgumentError(absl::StrCat("there is no completion for \"", shell,
                                                   "\"; there is for bash, zsh and fish"));
  }
  return absl::OkStatus();
}

void add_man_options(OptionList& /*options*/) {}

absl::Status run_man(const std::string& /*argument*/, const GivenOptions& /*given*/) {
  print(man_page(all_verbs()));
  return absl::OkStatus();
}

}  // namespace

Verb completion_verb() { return {kCompletionTitle, add_completion_options, run_completion}; }

Verb man_verb() { return {kManTitle, add_man_options, run_man}; }

}  // namespace qkv
