#pragma once

#include <span>
#include <string>

#include "cli/verb.h"

namespace qkv {

// A verb of another program in the same folder, which is started for it.
struct VerbElsewhere {
  VerbTitle title;
  const char* program;  // "qkv-runs"
};

// Each Verb NAME_verb() that CMake finds in cli/.
std::span<Verb (*const)()> verbs_of_book();

// The verbs in apps/NAME/verbs, of the programs qkv-NAME. cmake/verbs_of_apps.cmake makes the list
// of the folders that are there, so that a program that only trains compiles none of them.
std::span<const VerbElsewhere> verbs_of_apps();

// The verbs of a program's command line.
struct Program {
  std::span<Verb (*const)()> verbs;
  std::span<const VerbElsewhere> verbs_elsewhere = {};
};

// The program: `qkv VERB [arguments]`. Returns the exit status: 0 for success, 1 for a failure, 2
// for a mistake of the user's, 130 when Ctrl-C stopped a training that can be resumed.
int run_command_line(int argc, char** argv, const Program& program);

// Three lines for a bug report: the version of qkv, what it was compiled with and for, and the
// library of its matrix products.
std::string version_text();

}  // namespace qkv
