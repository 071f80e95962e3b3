#include "apps/runs/sweep/sweep_job.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stop_token>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "framework/core/clock.h"
#include "framework/core/out_of_memory.h"
#include "framework/kernels/parallel.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"
#include "train/loop/training_run.h"

namespace qkv {
namespace {

constexpr int kFinished = 0, kFailed = 1, kInUse = 2,
              kStopped = 130;  // exit statuses of the process
constexpr char kError[] = "error ";

// The job's end of the connection. Each byte that comes is a number of threads; the end is a stop.
class Link {
 public:
  Link(int connection, int threads) : connection_(connection), threads_(threads) {
    kernels::set_num_threads(threads);
    std::thread([this] { listen(); }).detach();
  }

  std::stop_token stop() const { return stop_.get_token(); }

  // At a moment when no kernel runs.
  void take_threads() {
    const int threads = threads_;
    if (threads != kernels::num_threads()) kernels::set_num_threads(threads);
  }

  // What says how far the run is may be lost where nobody listens.
  void tell(const std::string& text, bool must_arrive) const {
    ::send(connection_, text.data(), text.size(), MSG_NOSIGNAL | (must_arrive ? 0 : MSG_DONTWAIT));
  }

 private:
  void listen() {
    while (true) {
      unsigned char threads = 0;
      const ssize_t count = ::read(connection_, &threads, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      threads_ = threads;
    }
    stop_.request_stop();
  }

  int connection_;
  std::atomic<int> threads_;
  std::stop_source stop_;
};

class Reporter final : public RunListener {
 public:
  explicit Reporter(Link& link) : link_(link) {}

  void before_step() override { link_.take_threads(); }
  void report(const StepReport& step) override {
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    link_.tell(absl::StrCat(step.metrics.step, "\n"), /*must_arrive=*/false);
  }

 private:
  Link& link_;
  Clock::time_point next_;
};

// Unavailable: another process trains into it, perhaps one of a sweep that was killed.
absl::StatusOr<RunFolder> open_folder(const std::string& path, const Config& config) {
  for (bool again = true;; again = false) {
    absl::StatusOr<RunFolder> folder = RunFolder::resume(path);
    if (absl::IsNotFound(folder.status())) folder = RunFolder::create(path, config);
    if (folder.ok()) return folder;
    if (is_in_use(path)) return absl::UnavailableError("in use");
    if (!again) return folder;
    // Once more, as whoever looks whether it is in use holds it for a moment.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

absl::Status train(const SweepRun& run, uint64_t memory, Link& link) {
  const absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(run.config, link.stop());
  if (!dataset.ok()) return dataset.status();
  const auto check_fits = [&] {
    return check_memory(foresee_step(run.config, **dataset, memory), memory);
  };
  if (!find_checkpoint(run.folder).ok()) {  // before there is a folder
    if (absl::Status s = check_fits(); !s.ok()) return s;
  }
  absl::StatusOr<RunFolder> folder = open_folder(run.folder, run.config);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<std::string> checkpoint = folder->newest_checkpoint();
  if (!checkpoint.ok()) return checkpoint.status();
  TrainingRun training(run.config, **dataset, *std::move(folder), link.stop());
  absl::Status begun = checkpoint->empty() ? training.begin() : training.resume();
  if (!begun.ok()) return begun;
  link.tell(absl::StrCat(training.state().step, "\n"), /*must_arrive=*/true);
  if (training.is_finished()) return absl::OkStatus();
  if (!checkpoint->empty()) {
    if (absl::Status s = check_fits(); !s.ok()) return s;
  }
  Reporter reporter(link);
  const absl::StatusOr<RunOutcome> outcome = training.run({&reporter});
  if (!outcome.ok()) return outcome.status();
  link.tell(absl::StrCat(training.state().step, "\n"), /*must_arrive=*/true);
  // Out of time is an end that the config asks for.
  return *outcome == RunOutcome::kInterrupted ? absl::CancelledError("stopped") : absl::OkStatus();
}

absl::Status train_and_catch(const SweepRun& run, uint64_t memory, Link& link) {
  try {
    return train(run, memory, link);
  } catch (const std::bad_alloc& e) {
    return absl::ResourceExhaustedError(OutOfMemory::of(e).what());
  } catch (const std::exception& e) {  // a mistake in qkv itself
    return absl::InternalError(e.what());
  }
}

// Nothing of the process that was copied is run at its end.
[[noreturn]] void be_job(const SweepRun& run, int connection, int threads, uint64_t memory) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  Link link(connection, threads);
  const absl::Status status = train_and_catch(run, memory, link);
  if (status.ok()) ::_exit(kFinished);
  if (absl::IsCancelled(status)) ::_exit(kStopped);
  if (absl::IsUnavailable(status)) ::_exit(kInUse);
  link.tell(absl::StrCat(kError, status.message()), /*must_arrive=*/true);
  ::_exit(kFailed);
}

}  // namespace

absl::StatusOr<SweepJob> SweepJob::start(const SweepRun& run, int threads, uint64_t memory,
                                         const std::vector<int>& others) {
  int both[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a connection to a run");
  }
  FileDescriptor ours(both[0]), theirs(both[1]);
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) return absl::ErrnoToStatus(errno, "cannot start the process of a run");
  if (process == 0) {
    ::close(ours.get());
    for (const int other : others) ::close(other);
    be_job(run, theirs.get(), threads, memory);
  }
  return SweepJob(process, std::move(ours), threads);
}

bool SweepJob::listen() {
  char bytes[4096];
  const ssize_t count = ::read(connection_.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EINTR;
  heard_.append(bytes, static_cast<size_t>(count));
  for (size_t end; (end = heard_.find('\n')) != std::string::npos;) {
    int64_t step = 0;
    if (!absl::SimpleAtoi(heard_.substr(0, end), &step)) break;  // the text of an error
    if (first_step_ < 0) first_step_ = step;
    steps_made_ = step;
    heard_.erase(0, end + 1);
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
  if (WEXITSTATUS(status) == kFinished) return absl::OkStatus();
  if (WEXITSTATUS(status) == kStopped) return absl::CancelledError("stopped");
  if (WEXITSTATUS(status) == kInUse) return absl::UnavailableError("in use");
  const bool has_text = heard_.starts_with(kError);
  return absl::UnknownError(has_text ? heard_.substr(sizeof kError - 1)
                                     : "its process ended without a word");
}

void SweepJob::use_threads(int threads) {
  if (threads == threads_) return;
  threads_ = threads;
  const auto byte = static_cast<unsigned char>(threads);
  ::send(connection_.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SweepJob::stop() { ::shutdown(connection_.get(), SHUT_WR); }
void SweepJob::kill() { ::kill(process_, SIGKILL); }

}  // namespace qkv
