#include "apps/runs/sweep/sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/runs/run_summary.h"
#include "framework/core/clock.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/terminal.h"
#include "framework/io/files.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/folder/reading_progress.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

// While it lives, Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) are read from a
// descriptor, and end nothing. An ignored signal stays ignored.
class SweepSignals {
 public:
  SweepSignals() {
    sigset_t stops;
    sigemptyset(&stops);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action = {};
      const bool known = sigaction(signal, nullptr, &action) == 0;
      if (known && action.sa_handler != SIG_IGN) sigaddset(&stops, signal);
    }
    pthread_sigmask(SIG_BLOCK, &stops, &before_);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_before_);
    signals_ = FileDescriptor(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SweepSignals() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    sigaction(SIGPIPE, &pipe_before_, nullptr);
  }
  SweepSignals(const SweepSignals&) = delete;
  SweepSignals& operator=(const SweepSignals&) = delete;

  int descriptor() const { return signals_.get(); }
  void read_one() const {
    signalfd_siginfo info;
    [[maybe_unused]] const ssize_t count = ::read(signals_.get(), &info, sizeof info);
  }

 private:
  sigset_t before_;
  struct sigaction pipe_before_;
  FileDescriptor signals_;
};

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

// `qkv train` in a process of its own, which begins a run of a sweep, or continues the one in its
// folder. It saves the run when it is stopped, or when the process that started it has ended,
// however it did: Ctrl-C and SIGTERM, which a terminal or a scheduler sends to both, mean nothing
// to it.
class SweepJob {
 public:
  // A run that needs more than `memory`, in bytes, fails before it begins.
  static absl::StatusOr<SweepJob> start(const SweepRun& run, int threads, uint64_t memory) {
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "qkv";
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

  // Readable when the job has something to say.
  int descriptor() const { return output_.get(); }

  // Reads its output; false when it has ended.
  bool listen() {
    char bytes[4096];
    const ssize_t count = ::read(output_.get(), bytes, sizeof bytes);
    if (count < 0) return errno == EINTR;
    rest_.append(bytes, static_cast<size_t>(count));
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
      read_line(rest_.substr(0, end));
    }
    return count > 0;
  }

  // After its end. OK: the run is finished. Cancelled: it was stopped, and is saved. Unavailable:
  // another process trains into its folder, or has begun to. Any other: it failed.
  absl::Status result() {
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

  void stop() { ::kill(process_, kStop); }  // and save
  void kill() { ::kill(process_, SIGKILL); }

  int64_t steps_made() const { return step_ - first_step_; }  // by this job
  int64_t step() const { return step_; }
  bool was_finished() const { return was_finished_; }  // before it began

 private:
  SweepJob(pid_t process, FileDescriptor output) : process_(process), output_(std::move(output)) {}

  void read_line(const std::string& line) {
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

  pid_t process_;
  FileDescriptor output_;
  std::string rest_;  // of its output: a line that has not ended
  std::string error_;
  int64_t first_step_ = 0, step_ = 0;
  bool was_finished_ = false;
};

// A process that is bound to some cores has those; else all on the machine share its cores.
int share_of_cores(int64_t processes) {
  if (processes == 1) return kernels::num_threads();
  const int64_t share = std::thread::hardware_concurrency() / processes;
  return static_cast<int>(std::clamp<int64_t>(share, 1, kernels::num_threads()));
}

class Sweep {
 public:
  Sweep(const SweepPlan& plan, const SweepOptions& options)
      : lines_(options.tell), cores_(share_of_cores(options.ranks_on_machine)) {
    for (const Combination& combination : plan.combinations) {
      for (const SweepRun& run : combination.runs) runs_.push_back(&run);
    }
    outcome_.resize(runs_.size());
    left_.resize(runs_.size());
    std::iota(left_.begin(), left_.end(), size_t{0});
    const int64_t cores = cores_, wanted = options.jobs.value_or(cores);
    jobs_ = std::min({wanted, cores, static_cast<int64_t>(runs_.size())});
    memory_ = available_memory() / static_cast<uint64_t>(jobs_);
    lines_.say(absl::StrCat(runs_.front()->config.name, ": ", runs_.size(),
                            runs_.size() == 1 ? " run, " : " runs, ", jobs_, " at a time on ",
                            cores, cores == 1 ? " core" : " cores", ", into ", plan.folder));
    if (wanted > cores) {
      lines_.say(absl::StrCat("not ", wanted, " at a time, as each needs a core"));
    }
    for (const std::string& note : plan.notes) lines_.say(note);
  }

  absl::StatusOr<SweepOutcome> run() {
    while (start_what_fits(), !running_.empty() || waiting() > 0) wait();
    lines_.clear();
    if (!stopping_) return std::move(outcome_);
    lines_.say(absl::StrCat("stopped: ", finished_, " of ", runs_.size(),
                            " runs are finished; the same command continues"));
    return absl::CancelledError("interrupted");
  }

 private:
  struct Running {
    size_t number;  // of the run
    SweepJob job;
    Clock::time_point start;
  };

  size_t waiting() const { return stopping_ ? 0 : left_.size(); }

  // The next run that no other process trains; its number is no longer among those left.
  std::optional<size_t> take_next() {
    const auto next = std::ranges::find_if(
        left_, [&](size_t number) { return !is_in_use(runs_[number]->folder); });
    if (stopping_ || next == left_.end()) return std::nullopt;
    const size_t number = *next;
    left_.erase(next);
    return number;
  }

  // Those that run at a time share the cores, also where fewer are left than may run; a run has as
  // many as its config allows.
  int threads_of_next(const SweepRun& run) const {
    const size_t place = running_.size();
    const auto among = static_cast<int>(std::min<size_t>(place + 1 + waiting(), size_t(jobs_)));
    const int share = cores_ / among + (static_cast<int>(place) < cores_ % among ? 1 : 0);
    const auto most = static_cast<int>(run.config.train.threads);
    return most > 0 ? std::min(share, most) : share;
  }

  void start_what_fits() {
    while (running_.size() < static_cast<size_t>(jobs_)) {
      const std::optional<size_t> next = take_next();
      if (!next) return;
      const SweepRun& run = *runs_[*next];
      absl::StatusOr<SweepJob> job = SweepJob::start(run, threads_of_next(run), memory_);
      if (job.ok()) {
        running_.push_back({*next, *std::move(job), Clock::now()});
      } else {
        note_failure(*next, job.status());
      }
    }
  }

  void wait() {
    std::vector<pollfd> open = {{signals_.descriptor(), POLLIN, 0}};
    for (const Running& r : running_) open.push_back({r.job.descriptor(), POLLIN, 0});
    // Runs that other processes train may be free at any moment.
    const bool looks_again = waiting() > 0 && running_.size() < static_cast<size_t>(jobs_);
    ::poll(open.data(), open.size(), lines_.on_terminal() || looks_again ? 200 : -1);
    if (open[0].revents != 0) stop();
    for (size_t i = running_.size(); i-- > 0;) {
      if (open[i + 1].revents == 0 || running_[i].job.listen()) continue;
      conclude(running_[i]);
      running_.erase(running_.begin() + i);
    }
    if (lines_.on_terminal()) lines_.show(status());
  }

  // The first signal saves, the second ends at once.
  void stop() {
    signals_.read_one();
    for (Running& r : running_) stopping_ ? r.job.kill() : r.job.stop();
    stopping_ = true;
  }

  void conclude(Running& running) {
    const SweepJob& job = running.job;
    steps_made_ += job.steps_made();
    const absl::Status result = running.job.result();
    if (stopping_ && !result.ok()) return;  // another call continues it
    if (absl::IsUnavailable(result)) return left_.push_back(running.number);
    if (!result.ok()) return note_failure(running.number, result);
    ++finished_;
    const SweepRun& run = *runs_[running.number];
    const absl::StatusOr<RunSummary> summary = summarize_run(run.folder);
    std::string text = run.name;
    if (summary.ok() && summary->best) {
      absl::StrAppendFormat(&text, "  val loss %.4f at step %d", *summary->best_loss(),
                            summary->best->step);
      if (const auto right = summary->accuracy()) {
        absl::StrAppend(&text, "  right: ", format_percent(*right));
      }
    }
    lines_.say(absl::StrCat(
        text, "  ",
        job.was_finished() ? "was finished" : format_duration(seconds_since(running.start))));
  }

  void note_failure(size_t number, const absl::Status& status) {
    outcome_[number] = std::string(status.message());
    ++failed_;
    lines_.say(absl::StrCat(runs_[number]->name, "  failed"));
  }

  // "4 of 9 runs are finished, 2 train; 61 % of the steps, 12 s left"
  std::string status() const {
    int64_t left = 0, made = steps_made_;
    for (const Running& r : running_) {
      left += runs_[r.number]->config.train.steps - r.job.step();
      made += r.job.steps_made();
    }
    std::string text = absl::StrCat(finished_, " of ", runs_.size(), " runs are finished, ");
    if (failed_ > 0) absl::StrAppend(&text, failed_, " failed, ");
    if (stopping_) return absl::StrCat(text, running_.size(), " are being saved");
    absl::StrAppend(&text, running_.size(), running_.size() == 1 ? " trains" : " train");
    for (const size_t number : left_) left += runs_[number]->config.train.steps;
    if (made == 0 || seconds_since(start_) < 2) return text;
    const double seconds = seconds_since(start_) / static_cast<double>(made);
    return absl::StrCat(text, "; ", format_duration(seconds * static_cast<double>(left)), " left");
  }

  const SweepSignals signals_;
  ProgressLine lines_;
  std::vector<const SweepRun*> runs_;
  SweepOutcome outcome_;
  const int cores_;
  int64_t jobs_ = 1;
  uint64_t memory_ = 0;  // the share of a job in the free memory, in bytes
  std::vector<Running> running_;
  std::vector<size_t> left_;  // the numbers of runs that are neither running nor at their end
  size_t finished_ = 0, failed_ = 0;
  int64_t steps_made_ = 0;  // now, in runs that have ended
  bool stopping_ = false;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::StatusOr<SweepOutcome> run_sweep(const SweepPlan& plan, const SweepOptions& options) {
  if (options.jobs && *options.jobs < 1) {
    return invalid_argument("--jobs must be at least 1, not ", *options.jobs);
  }
  RETURN_IF_ERROR(make_folder(plan.folder));
  return Sweep(plan, options).run();
}

}  // namespace qkv
