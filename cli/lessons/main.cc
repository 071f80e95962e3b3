#include "cli/command_line.h"
#include "cli/lessons/verbs.h"

// What `qkv` starts for the verbs of this folder.
int main(int argc, char** argv) {
  return qkv::run_command_line(argc, argv, {.verbs = qkv::kLessonVerbs});
}
