#pragma once

#include <span>

#include "cli/verb.h"

namespace qkv {

// A verb of another program in the same folder, which is started for it.
struct VerbElsewhere {
  VerbTitle title;
  const char* program;  // "qkv-runs"
};

// What a program's command line offers.
struct Program {
  std::span<Verb (*const)()> verbs;
  std::span<const VerbElsewhere> verbs_elsewhere = {};
};

// The program: `qkv VERB [arguments]`. Returns the exit status: 0 for success, 1 for what went
// wrong, 2 for what the user wrote, 130 when Ctrl-C stopped a training that can be resumed.
int run_command_line(int argc, char** argv, const Program& program);

}  // namespace qkv
