#include "cli/verb.h"

namespace qkv {
namespace {

absl::Status answer_notebook() {
  return absl::FailedPreconditionError(
      "qkv notebook is started by the script ./qkv, in the folder of qkv's sources: ./qkv "
      "notebook; where the Python package is installed, any notebook has it by import qkv");
}

absl::StatusOr<std::string> more_on_notebook(const std::string& /*argument*/,
                                             const GivenOptions& /*given*/) {
  return std::string(
      "\nJupyter gets all words after the verb: ./qkv notebook --no-browser.\n"
      "Only the script ./qkv, in the folder of qkv's sources, can start it.\n");
}

}  // namespace

Verb notebook_verb() {
  return {.title = {"notebook", "", "opens the lessons in Python as Jupyter notebooks"},
          .more_help = more_on_notebook,
          .answer = answer_notebook};
}

}  // namespace qkv
