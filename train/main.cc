#include <csignal>

#include "train/command_line.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that a limit keeps from growing is an error, and no end
  return qkv::run_command_line(argc, argv);
}
