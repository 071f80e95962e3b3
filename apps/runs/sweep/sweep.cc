#include "apps/runs/sweep/sweep.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/runs/run_summary.h"
#include "apps/runs/sweep/sweep_job.h"
#include "framework/core/clock.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/terminal.h"
#include "framework/io/files.h"
#include "framework/kernels/parallel.h"
#include "train/folder/reading_progress.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

// While it lives, Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) are read from a
// descriptor, and end nothing. An ignored signal stays ignored.
class SweepSignals {
 public:
  SweepSignals();
  ~SweepSignals();
  SweepSignals(const SweepSignals&) = delete;
  SweepSignals& operator=(const SweepSignals&) = delete;

  int descriptor() const { return signals_.get(); }
  void read_one() const;

 private:
  sigset_t before_;
  struct sigaction pipe_before_;
  FileDescriptor signals_;
};

SweepSignals::SweepSignals() {
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

SweepSignals::~SweepSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void SweepSignals::read_one() const {
  signalfd_siginfo info;
  [[maybe_unused]] const ssize_t count = ::read(signals_.get(), &info, sizeof info);
}

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
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
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
    return absl::InvalidArgumentError(
        absl::StrCat("--jobs must be at least 1, not ", *options.jobs));
  }
  if (absl::Status status = make_folder(plan.folder); !status.ok()) return status;
  return Sweep(plan, options).run();
}

}  // namespace qkv
