#include "cli/verb.h"

namespace qkv {
namespace {

// ladder.py reads them: the script ./qkv starts it itself, before this program.
void add_ladder_options(OptionList& options) {
  options.text("folder", "DIR", "Folder of the student's files", "ladder");
  options.flag("begin", "Writes the files that are to be completed");
  options.flag("plant", "Puts a mistake into the file of RUNG, for a neighbour to find");
  options.text("class", "DIR", "Checks every student's folder in DIR");
  options.text("lang", "en|zh", "Language", "en");
}

absl::Status answer_ladder() {
  return absl::FailedPreconditionError(
      "qkv ladder is started by the script ./qkv, in the folder of qkv's sources: ./qkv ladder");
}

absl::StatusOr<std::string> more_on_ladder(const std::string& /*argument*/,
                                           const GivenOptions& /*given*/) {
  return std::string(
      "\nExamples:\n"
      "  ./qkv ladder --begin           writes ladder/rung01_mean.py and eleven more\n"
      "  ./qkv ladder 4                 checks rung 4, and trains with it\n"
      "  ./qkv ladder --class handed-in a table of who is where, and which mistakes\n"
      "\nA file runs in a process of its own: 10 s, 1 GiB, no network, a folder of its own.\n");
}

}  // namespace

Verb ladder_verb() {
  return {{"ladder", "[RUNG]", "checks attention that you write; no RUNG: the list"},
          add_ladder_options,
          /*run=*/nullptr,
          more_on_ladder,
          answer_ladder};
}

}  // namespace qkv
