#include "apps/runs/sweep/sweep_job.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "train/config/config.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

constexpr int kStopped = 130;   // exit status of `qkv train`
constexpr int kStop = SIGXCPU;  // the one signal that may come twice and only stops

// Variables of mpirun and Slurm are for the sweep, not for its jobs.
constexpr std::string_view kRankVariables[] = {"OMPI_", "PMI", "MPI_", "SLURM_"};

std::vector<std::string> environment_of_job(int threads, uint64_t memory) {
  std::vector<std::string> variables = {absl::StrCat("QKV_THREADS=", threads),
                                        absl::StrCat("QKV_MEMORY=", memory)};
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    const auto begins = [&](std::string_view with) { return text.starts_with(with); };
    if (std::ranges::none_of(kRankVariables, begins)) variables.push_back(text);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A file without a name, which reads as standard input does.
FileDescriptor file_of(const std::string& text) {
  FileDescriptor file(::memfd_create("config", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  return file.is_open() && ::write(file.get(), text.data(), text.size()) == size ? std::move(file)
                                                                                 : FileDescriptor();
}

// Nothing that another thread of the sweep may hold is used here.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         int input, int output, pid_t sweep) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  sigset_t stop;  // waits until somebody listens to it
  sigemptyset(&stop);
  sigaddset(&stop, kStop);
  ::sigprocmask(SIG_SETMASK, &stop, nullptr);
  ::prctl(PR_SET_PDEATHSIG, kStop);
  if (::getppid() != sweep) ::_exit(kStopped);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execve(program, arguments, environment);
  ::_exit(EXIT_FAILURE);
}

}  // namespace

absl::StatusOr<SweepJob> SweepJob::start(const SweepRun& run, int threads, uint64_t memory) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "qkv";
  std::vector<std::string> words = {program, "train", "/dev/stdin", "--out", run.folder};
  const bool has_begun =
      find_checkpoint(run.folder).ok() || !numbered_checkpoints(run.folder).empty();
  if (has_begun) words.emplace_back("--resume");
  std::vector<std::string> variables = environment_of_job(threads, memory);
  const std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  const FileDescriptor config = file_of(to_toml(run.config));
  int both[2];
  if (!config.is_open() || ::pipe2(both, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a connection to a run");
  }
  FileDescriptor ours(both[0]), theirs(both[1]);
  const pid_t sweep = ::getpid(), process = ::fork();
  if (process < 0) return absl::ErrnoToStatus(errno, "cannot start the process of a run");
  if (process == 0) {
    become(program.c_str(), arguments.data(), environment.data(), config.get(), theirs.get(),
           sweep);
  }
  return SweepJob(process, std::move(ours));
}

void SweepJob::read_line(const std::string& line) {
  constexpr std::string_view kError = "error: ";
  int64_t step = 0;
  if (std::sscanf(line.c_str(), "continuing after step %" SCNd64, &step) == 1) {
    first_step_ = step_ = step;
  } else if (std::sscanf(line.c_str(), "step %" SCNd64 "/", &step) == 1) {
    step_ = std::max(step_, step);
  } else if (line.starts_with(kError)) {
    error_ = line.substr(kError.size());
  }
  was_finished_ |= line.starts_with("this run is already finished");
}

bool SweepJob::listen() {
  char bytes[4096];
  const ssize_t count = ::read(output_.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EINTR;
  rest_.append(bytes, static_cast<size_t>(count));
  for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
    read_line(rest_.substr(0, end));
  }
  return count > 0;
}

absl::Status SweepJob::result() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return absl::AbortedError(
        absl::StrCat("its process was ended by signal ", signal,
                     signal == SIGKILL ? ", perhaps because memory ran out" : ""));
  }
  if (WEXITSTATUS(status) == EXIT_SUCCESS) return absl::OkStatus();
  if (WEXITSTATUS(status) == kStopped) return absl::CancelledError("stopped");
  for (const char* of_another : {" is in use: ", " holds another run; "}) {
    if (absl::StrContains(error_, of_another)) return absl::UnavailableError(error_);
  }
  return absl::UnknownError(error_.empty() ? "its process ended without a word" : error_);
}

void SweepJob::stop() { ::kill(process_, kStop); }
void SweepJob::kill() { ::kill(process_, SIGKILL); }

}  // namespace qkv
