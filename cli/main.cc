#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "cli/command_line.h"

namespace {

// A program may be started without standard input, output or error. The next files it opens would
// take their numbers, and what is said to a person would be written into them. A folder in their
// place can be neither read nor written, not by the name of /dev/stdin or /dev/stdout either.
bool occupy_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/", O_RDONLY | O_DIRECTORY) != number) return false;  // the lowest that is free
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!occupy_standard_descriptors()) {
    std::perror("error: cannot open /");
    return 1;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that a limit keeps from growing is an error, and no end
  return qkv::run_command_line(argc, argv);
}
