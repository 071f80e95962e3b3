#include "apps/shell/completion.h"

#include "absl/strings/str_cat.h"
#include "apps/shell/all_verbs.h"

namespace qkv {
namespace {

void add_completion_options(OptionList& options) {
  options.choices("", [] { return std::vector<std::string>{"bash", "zsh", "fish"}; });
}

absl::Status run_completion(const std::string& shell, const GivenOptions& /*given*/) {
  const std::vector<VerbEntry> verbs = verb_table(all_verbs());
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

}  // namespace

Verb completion_verb() {
  return {{"completion", "SHELL", "prints what bash, zsh or fish complete"},
          add_completion_options,
          run_completion};
}

}  // namespace qkv
