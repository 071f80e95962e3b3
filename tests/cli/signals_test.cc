// What a training run does with the signals that a person, a terminal or a scheduler sends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

using testing::HasSubstr;

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() {
    write_bytes(folder_ / "run.toml", "name = \"run\"\n" + kTinyRun + "steps = 400\nthreads = 3\n");
  }

  // Trains; `act` gets the running program as soon as it has said `when`.
  ProcessResult train(const std::string& out, const std::string& when,
                      const std::function<void(pid_t)>& act, std::vector<std::string> more = {},
                      std::vector<std::string> before = {}) {
    std::vector<std::string> command = std::move(before);
    command.insert(command.end(), {QKV_BINARY, "train", "run.toml", "--out", out});
    command.insert(command.end(), more.begin(), more.end());
    ProcessOptions options;
    options.folder = folder_.path();
    options.on_output = [&](pid_t program, const std::string& output) {
      if (output.find(when) == std::string::npos) return false;
      act(program);
      return true;
    };
    return run_process(command, options);
  }

  std::string in(const std::string& path) const { return contents_of(folder_ / path); }

  void expect_same_ends(const std::string& a, const std::string& b) const {
    for (const char* name :
         {"checkpoints/last.safetensors", "checkpoints/best.safetensors", "samples.txt"}) {
      EXPECT_EQ(in(a + "/" + name), in(b + "/" + name)) << name;
      EXPECT_NE(in(a + "/" + name), "") << name;
    }
  }

  TemporaryFolder folder_;
};

const auto kNothing = [](pid_t) {};

auto sending(int signal) {
  return [signal](pid_t program) { ::kill(program, signal); };
}

// A set of signals as /proc shows it: "SigBlk:	0000000000014003".
uint64_t signals_in(const std::string& status, const std::string& name) {
  const size_t at = status.find(name + ":\t");
  return at == std::string::npos ? 0
                                 : std::stoull(status.substr(at + name.size() + 2), nullptr, 16);
}

bool holds(uint64_t signals, int signal) { return (signals >> (signal - 1) & 1) != 0; }

// The products of oneDNN move the stack pointer into the heap, so that a handler's frame would be
// written over what is there: on no thread may one run.
TEST_F(SignalsTest, AreHandledOnNoThread) {
  int threads = 0, waiting = 0;
  const auto look = [&](pid_t program) {
    const std::string tasks = absl::StrCat("/proc/", program, "/task");
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      const std::string status = contents_of(task.path() / "status");
      ++threads;
      const uint64_t blocked = signals_in(status, "SigBlk");
      waiting += !holds(blocked, SIGINT);
      for (const int signal : kStops) {
        EXPECT_FALSE(holds(signals_in(status, "SigCgt"), signal)) << signal << "\n" << status;
        EXPECT_EQ(holds(blocked, signal), holds(blocked, SIGINT)) << signal << "\n" << status;
      }
    }
    ::kill(program, SIGTERM);
  };
  const ProcessResult result = train("run", "step 40/", look, {"--set", "model.d_model=128"});
  EXPECT_EQ(result.exit_status, 130) << result.output << result.errors;
  EXPECT_EQ(threads, 4) << "two workers beside the main thread, and the one that waits";
  EXPECT_EQ(waiting, 1);
}

TEST_F(SignalsTest, EachStopSavesAndTheRunGoesOn) {
  EXPECT_EQ(train("whole", "into", kNothing).exit_status, 0);
  for (const int signal : kStops) {
    const std::string out = absl::StrCat("stopped-by-", signal);
    const ProcessResult stopped = train(out, "step 40/", sending(signal));
    EXPECT_EQ(stopped.exit_status, 130) << stopped.output << stopped.errors;
    EXPECT_THAT(stopped.output, HasSubstr("saved. The same command with --resume continues\n"));
    EXPECT_EQ(train(out, "into", kNothing, {"--resume"}).exit_status, 0);
    expect_same_ends("whole", out);
  }
}

TEST_F(SignalsTest, AStopIsAStopWhenNobodyReadsTheOutputAnyMore) {
  const auto stop = [](pid_t program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // head ends meanwhile
    ::kill(program, SIGINT);
  };
  const ProcessResult result = train("run", "into", stop, {"--set", "train.steps=1000000"},
                                     {"/bin/bash", "-c", "exec \"$@\" > >(head -n 1)", "bash"});
  EXPECT_EQ(result.exit_status, 130) << result.output << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/last.safetensors"));
}

TEST_F(SignalsTest, TheSecondEndsAtOnce) {
  // Both come within one long step: the program stands still until both are there.
  const auto twice = [](pid_t program) {
    ::kill(program, SIGSTOP);
    ::kill(program, SIGINT);
    ::kill(program, SIGTERM);
    ::kill(program, SIGCONT);
  };
  const ProcessResult result = train("run", "into", twice, {"--set", "train.batch_size=200000"});
  EXPECT_GT(result.exit_status, 128) << "ended by the signal itself";
  EXPECT_THAT(result.output, testing::Not(HasSubstr("saved")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/checkpoints/last.safetensors"));
}

TEST_F(SignalsTest, WhatWasIgnoredStaysIgnored) {
  const ProcessResult result = train("run", "step 40/", sending(SIGHUP), {},
                                     {"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"});
  EXPECT_EQ(result.exit_status, 0) << result.output << result.errors;
}

TEST_F(SignalsTest, AnEvaluationIsNotWaitedFor) {
  // An evaluation that takes nearly all of the time, after a step that takes milliseconds.
  const std::vector<std::string> long_evaluation = {
      "--set", "train.steps=1",  "--set", "train.eval_batch_size=1",
      "--set", "data.length=12", "--set", "data.validation_examples=8000"};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(train("whole", "into", kNothing, long_evaluation).exit_status, 0);
  const auto duration = std::chrono::steady_clock::now() - begin;
  const ProcessResult stopped = train(
      "parts", "into",
      [duration](pid_t program) {
        std::this_thread::sleep_for(duration / 4);
        ::kill(program, SIGINT);
      },
      long_evaluation);
  EXPECT_EQ(stopped.exit_status, 130) << stopped.output << stopped.errors;
  EXPECT_THAT(stopped.output, HasSubstr("stopped after step 1 of 1; saved"));
  EXPECT_THAT(in("parts/metrics.jsonl"), testing::Not(HasSubstr("\"step\":1")));

  std::vector<std::string> resumed = long_evaluation;
  resumed.emplace_back("--resume");
  EXPECT_EQ(train("parts", "into", kNothing, resumed).exit_status, 0);
  EXPECT_THAT(in("parts/metrics.jsonl"), HasSubstr("\"step\":1"));
  expect_same_ends("whole", "parts");
}

TEST_F(SignalsTest, ARunThatWasSuspendedGoesOnAsIfNothingHadBeen) {
  EXPECT_EQ(train("whole", "into", kNothing).exit_status, 0);
  const auto suspend = [](pid_t program) {
    ::kill(program, SIGTSTP);
    siginfo_t info = {};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(program), &info, WSTOPPED), 0);
    EXPECT_EQ(info.si_code, CLD_STOPPED);
    ::kill(program, SIGCONT);
  };
  EXPECT_EQ(train("parts", "step 40/", suspend).exit_status, 0);
  expect_same_ends("whole", "parts");
}

TEST_F(SignalsTest, AFolderThatIsMovedMeanwhileKeepsTheRun) {
  EXPECT_EQ(train("whole", "into", kNothing).exit_status, 0);
  const auto move = [&](pid_t) { std::filesystem::rename(folder_ / "run", folder_ / "moved"); };
  const ProcessResult result = train("run", "step 40/", move);
  EXPECT_EQ(result.exit_status, 1) << result.output;
  EXPECT_THAT(
      result.errors,
      testing::MatchesRegex("error: run was moved to [^ ]*/moved while the run trained into it; "
                            "the run was saved there after step [0-9]+; --resume --out "
                            "[^ ]*/moved continues it; the checkpoints in .* are kept\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  EXPECT_EQ(train("moved", "into", kNothing, {"--resume"}).exit_status, 0);
  expect_same_ends("whole", "moved");
}

TEST_F(SignalsTest, FilesThatAreRemovedMeanwhileStandThereAgain) {
  EXPECT_EQ(train("whole", "into", kNothing).exit_status, 0);
  const auto remove = [&](pid_t) {
    std::filesystem::remove(folder_ / "parts/metrics.jsonl");
    std::filesystem::remove(folder_ / "parts/samples.txt");
  };
  EXPECT_EQ(train("parts", "step 40/", remove).exit_status, 0);
  expect_same_ends("whole", "parts");
  const auto steps = [&](const std::string& run) {
    std::istringstream lines(in(run + "/metrics.jsonl"));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);)
      found.push_back(line.substr(0, line.find(',')));
    return found;
  };
  EXPECT_EQ(steps("parts"), steps("whole"));
  EXPECT_GT(steps("parts").size(), 20u);
}

// A stop in the reading of a large text.

using TextFilesRunTest = CommandLineFixture;

// Whether the program has a file open in whose path that stands, with at least so many bytes.
bool has_open(pid_t program, const std::string& part, uintmax_t bytes) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator i(absl::StrCat("/proc/", program, "/fd"), ignored), end;
       !ignored && i != end; i.increment(ignored)) {
    const std::string path = std::filesystem::read_symlink(i->path(), ignored);
    struct stat status;
    if (path.find(part) != std::string::npos && ::stat(i->path().c_str(), &status) == 0 &&
        static_cast<uintmax_t>(status.st_size) >= bytes) {
      return true;
    }
  }
  return false;
}

TEST_F(TextFilesRunTest, CtrlCInTheReadingOfALargeTextLeavesNothing) {
  write_bytes(folder_ / "large.txt", "");
  std::filesystem::resize_file(folder_ / "large.txt", 256 << 20);  // it takes no room on the disk
  const std::string train = absl::StrCat(
      "echo begins; XDG_CACHE_HOME=", folder_ / "cache exec " QKV_BINARY,
      " train tiny.toml --set data.task=text --set data.alphabet=10 --set data.path=large.txt "
      "--out run");
  // In the first pass over the text, and while its tokens are written.
  using FileOfAtLeast = std::pair<std::string, uintmax_t>;
  for (const FileOfAtLeast& file : {FileOfAtLeast("large.txt", 1), {"cache/qkv/", 1 << 20}}) {
    ProcessOptions options;
    options.folder = folder_.path();
    bool seen = false;
    options.on_output = [&](pid_t program, const std::string& /*output*/) {
      while (!(seen = has_open(program, file.first, file.second)) && ::kill(program, 0) == 0 &&
             std::filesystem::exists(absl::StrCat("/proc/", program, "/exe"))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ::kill(program, SIGINT);
      return true;
    };
    const ProcessResult stopped = run_process({"/bin/sh", "-c", train}, options);
    EXPECT_TRUE(seen) << file.first;
    EXPECT_EQ(stopped.exit_status, 130) << stopped.output << stopped.errors;
    EXPECT_EQ(stopped.output,
              "begins\nthe reading of large.txt was stopped; nothing was written\n");
    EXPECT_THAT(stopped.errors, testing::Not(HasSubstr("error")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "cache/qkv"));
  }
}

}  // namespace
}  // namespace qkv
