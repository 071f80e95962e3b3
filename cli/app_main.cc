#include "cli/command_line.h"

namespace qkv {
std::span<Verb (*const)()> verbs_of_this_program();
}

// The program that `qkv` starts for the verbs of an app.
int main(int argc, char** argv) {
  return qkv::run_command_line(argc, argv, {.verbs = qkv::verbs_of_this_program()});
}
