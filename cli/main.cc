#include "cli/command_line.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  return qkv::run_command_line(argc, argv,
                               {.verbs = qkv::kVerbs, .verbs_elsewhere = qkv::verbs_of_apps()});
}
