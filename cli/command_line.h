#pragma once

namespace qkv {

// The program: `qkv VERB [arguments]`. Returns the exit status: 0 for success, 1 for what went
// wrong, 2 for what the user wrote, 130 when Ctrl-C stopped a training that can be resumed.
int run_command_line(int argc, char** argv);

}  // namespace qkv
