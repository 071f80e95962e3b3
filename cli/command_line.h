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

// The verbs in apps/NAME/verbs, of the programs qkv-NAME. cmake/verbs_of_apps.cmake makes the list
// of the folders that are there, so that who trains compiles none of them.
std::span<const VerbElsewhere> verbs_of_apps();

// What a program's command line offers.
struct Program {
  std::span<Verb (*const)()> verbs;
  std::span<const VerbElsewhere> verbs_elsewhere = {};
};

// The program: `qkv VERB [arguments]`. Returns the exit status: 0 for success, 1 for what went
// wrong, 2 for what the user wrote, 130 when Ctrl-C stopped a training that can be resumed.
int run_command_line(int argc, char** argv, const Program& program);

// What a bug report needs, in three lines: the version of qkv, what it was compiled with and for,
// and the library of its matrix products.
std::string version_text();

}  // namespace qkv
