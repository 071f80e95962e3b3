#include "cli/verb.h"

namespace qkv {
namespace {

// The script ./qkv starts Python itself, before this program.
absl::Status answer_python() {
  return absl::FailedPreconditionError(
      "qkv python is started by the script ./qkv, in the folder of qkv's sources: ./qkv python "
      "lesson.py; where the Python package is installed, python3 lesson.py does the same");
}

absl::StatusOr<std::string> more_on_python(const std::string& /*argument*/,
                                           const GivenOptions& /*given*/) {
  return std::string(
      "\nPython gets all words after the verb: ./qkv python -c \"import qkv\".\n"
      "Only the script ./qkv, in the folder of qkv's sources, can start it.\n");
}

}  // namespace

Verb python_verb() {
  return {.title = {"python", "[FILE]", "runs Python that can import qkv; no FILE: its prompt"},
          .more_help = more_on_python,
          .answer = answer_python};
}

}  // namespace qkv
