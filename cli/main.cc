#include "cli/command_line.h"

int main(int argc, char** argv) {
  return qkv::run_command_line(
      argc, argv, {.verbs = qkv::verbs_of_book(), .verbs_elsewhere = qkv::verbs_of_apps()});
}
