#include "tests/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace qkv {
namespace {

void set_limit(__rlimit_resource resource, int64_t bytes) {
  if (bytes == 0) return;
  const auto limit = static_cast<rlim_t>(bytes);
  const rlimit both{limit, limit};
  ::setrlimit(resource, &both);
}

void give_input(const std::string& text) {
  const int file = ::memfd_create("input", 0);
  const bool is_there = ::write(file, text.data(), text.size()) == std::ssize(text) &&
                        ::lseek(file, 0, SEEK_SET) == 0 && ::dup2(file, STDIN_FILENO) >= 0;
  if (!is_there) ::_exit(125);
  ::close(file);
}

[[noreturn]] void become(const std::vector<std::string>& command, const ProcessOptions& options,
                         int output, int errors) {
  ::setpgid(0, 0);  // in a group that nobody waits for, the system passes over SIGTSTP
  // What a shell in the background, or nohup, has ignored for the tests.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  if (options.in_terminal) {
    ::dup2(output, STDIN_FILENO);
  } else {
    give_input(options.input);
  }
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  if (!options.output_file.empty()) {
    ::dup2(::open(options.output_file.c_str(), O_WRONLY), STDOUT_FILENO);
  }
  set_limit(RLIMIT_FSIZE, options.largest_file_bytes);
  set_limit(RLIMIT_AS, options.memory_bytes);
  set_limit(RLIMIT_STACK, options.stack_bytes);
  if (::chdir(options.folder.c_str()) != 0) ::_exit(126);
  for (const std::string& setting : options.environment) {
    ::putenv(const_cast<char*>(setting.c_str()));
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

// A terminal that passes on all bytes as they are: what is written to the second descriptor can be
// read from the first.
bool open_terminal(int (&both)[2]) {
  both[0] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (both[0] < 0 || ::grantpt(both[0]) != 0 || ::unlockpt(both[0]) != 0) return false;
  both[1] = ::open(::ptsname(both[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios settings;
  if (both[1] < 0 || ::tcgetattr(both[1], &settings) != 0) return false;
  ::cfmakeraw(&settings);
  return ::tcsetattr(both[1], TCSANOW, &settings) == 0;
}

// Reads what is there into `text`; false at the end.
bool read_some(int file, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t count = ::read(file, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  int output[2], errors[2];
  const bool has_output =
      options.in_terminal ? open_terminal(output) : ::pipe2(output, O_CLOEXEC) == 0;
  if (!has_output || ::pipe2(errors, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipes, or no terminal";
    return {};
  }
  if (options.in_terminal) {
    winsize size = {};
    size.ws_row = 24, size.ws_col = static_cast<uint16_t>(options.columns);
    ::ioctl(output[1], TIOCSWINSZ, &size);
  }
  const pid_t child = ::fork();
  if (child == 0) become(command, options, output[1], errors[1]);
  ::close(output[1]);
  ::close(errors[1]);

  ProcessResult result;
  bool done = false;
  std::array<pollfd, 2> open = {pollfd{output[0], POLLIN, 0}, pollfd{errors[0], POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    ::poll(open.data(), open.size(), -1);
    if (open[0].revents != 0 && !read_some(output[0], result.output)) open[0].fd = -1;
    if (open[1].revents != 0 && !read_some(errors[0], result.errors)) open[1].fd = -1;
    if (!done && options.on_output) done = options.on_output(child, result.output);
  }
  ::close(output[0]);
  ::close(errors[0]);
  int status = 0;
  rusage used = {};
  ::wait4(child, &status, 0, &used);
  result.peak_bytes = int64_t{used.ru_maxrss} << 10;
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace qkv
