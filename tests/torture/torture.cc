// torture: a run that is killed, stopped or out of disk space, at any moment and any number of
// times, and goes on, must end as the run that nobody disturbed: the same bits in every checkpoint,
// the same metrics, the same samples, no file left over.
//
//   torture --program build/release/qkv --folder /tmp/torture --kills 1000

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cxxopts.hpp>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/torture/traced_process.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Variant {
  std::string precision;
  int threads = 1;

  std::string name() const { return absl::StrCat(precision, ", threads ", threads); }
};

// Ends in about a second, saves and evaluates often.
std::string config_text(const Variant& variant, bool tiny) {
  const int steps = tiny || variant.precision == "f64" ? 12 : 60;
  return absl::StrFormat(R"(name = "torture"
[data]
task = "reverse"
validation_examples = 64
[model]
num_layers = %d
d_model = %d
num_heads = 2
d_ff = %d
dropout = 0.1
[train]
steps = %d
batch_size = %d
precision = "%s"
threads = %d
eval_interval = %d
checkpoint_interval = %d
log_interval = %d
)",
                         tiny ? 1 : 2, tiny ? 8 : 64, tiny ? 16 : 256, steps, tiny ? 4 : 64,
                         variant.precision, variant.threads, steps / 4, steps / 3, steps / 12);
}

std::string contents_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// metrics.jsonl without what depends on the clock.
std::string without_times(const std::string& metrics) {
  std::string text;
  std::istringstream stream(metrics);
  for (std::string line; std::getline(stream, line);) {
    auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (object.is_object()) {
      object.erase("elapsed_seconds");
      object.erase("tokens_per_second");
    }
    absl::StrAppend(&text, object.dump(), "\n");
  }
  return text;
}

// All that a run left behind, by name.
std::map<std::string, std::string> result_of(const fs::path& run) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(run);
    const std::string bytes = contents_of(entry.path());
    files[name] = name == "metrics.jsonl" ? without_times(bytes) : bytes;
  }
  return files;
}

class Torture {
 public:
  Torture(std::string program, fs::path folder, uint64_t seed)
      : program_(std::move(program)), folder_(std::move(folder)), random_(seed) {
    fs::create_directories(folder_);
  }

  void at_system_calls(int64_t most);
  void at_random_moments(const Variant& variant, const std::vector<int>& signals, int64_t stops,
                         Clock::time_point deadline);
  int report() const;

 private:
  struct Count {
    int64_t done = 0, bad = 0;
  };

  std::vector<std::string> train(bool resume) const {
    std::vector<std::string> command = {program_, "train", folder_ / "torture.toml", "--out", run_};
    if (resume) command.emplace_back("--resume");
    return command;
  }

  // A config, an undisturbed run of it, and a folder for those that are disturbed.
  void prepare(const Variant& variant, bool tiny) {
    std::ofstream(folder_ / "torture.toml") << config_text(variant, tiny);
    run_ = folder_ / "undisturbed";
    fs::remove_all(run_);
    const End end = run(train(false), output_);
    if (end.exit_status != 0) {
      std::fprintf(stderr, "error: an undisturbed run failed: %s", end.output.c_str());
      std::exit(2);
    }
    expected_ = result_of(run_);
    run_ = folder_ / "run";
    fs::remove_all(run_);
  }

  // Goes on by --resume, or by the same command where there is nothing yet to go on with.
  bool can_resume() const {
    const fs::path checkpoints = fs::path(run_) / "checkpoints";
    return fs::exists(checkpoints / "last.safetensors");
  }

  void note(const std::string& kind, bool good, const std::string& what,
            const std::string& output) {
    ++counts_[kind].done;
    if (good) return;
    ++counts_[kind].bad;
    std::printf("BAD: %s: %s\n%s\n", kind.c_str(), what.c_str(), output.c_str());
    if (fs::exists(run_)) {
      fs::copy(run_, folder_ / absl::StrCat("bad-", ++bad_folders_),
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
  }

  // What differs between the folder and that of the undisturbed run; "": nothing.
  std::string difference() const {
    const auto found = result_of(run_);
    std::set<std::string> names;
    for (const auto& [name, bytes] : expected_) {
      if (const auto at = found.find(name); at == found.end() || at->second != bytes) {
        names.insert(name);
      }
    }
    for (const auto& [name, bytes] : found) {
      if (!expected_.contains(name)) names.insert(name);
    }
    return absl::StrJoin(names, ", ");
  }

  void finish_and_compare(const std::string& kind, const std::string& what) {
    const End end = run(train(can_resume()), output_);
    const std::string differs = end.exit_status == 0 ? difference() : "does not go on";
    note(kind, differs.empty(), absl::StrCat(what, ": ", differs), end.output);
  }

  std::string program_;
  fs::path folder_;
  std::string run_;
  std::string output_ = (folder_ / "output.txt").string();
  std::map<std::string, std::string> expected_;
  std::map<std::string, Count> counts_;
  int bad_folders_ = 0;
  std::mt19937_64 random_;
};

// All of 0 … count - 1, or `most` of them.
std::set<int64_t> some_of(int64_t count, int64_t most, std::mt19937_64& random) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  std::shuffle(numbers.begin(), numbers.end(), random);
  numbers.resize(static_cast<size_t>(std::min(count, most)));
  return {numbers.begin(), numbers.end()};
}

void Torture::at_system_calls(int64_t most) {
  prepare({"f32", 1}, /*tiny=*/true);
  const std::vector<std::string> calls = changing_calls(train(false), output_);
  const std::set<int64_t> chosen = some_of(std::ssize(calls), most, random_);
  std::printf("%zu system calls of a run change the file system; %zu of them are tried\n",
              calls.size(), chosen.size());
  const std::pair<Fault, std::string> faults[] = {
      {Fault::kill_before, "SIGKILL before a system call"},
      {Fault::kill_halfway, "SIGKILL in a half-done write"},
      {Fault::disk_full, "disk full at a system call"},
  };
  for (const auto& [fault, kind] : faults) {
    for (const int64_t call : chosen) {
      const std::string& name = calls[static_cast<size_t>(call)];
      if (fault == Fault::kill_halfway && name != "write") continue;
      fs::remove_all(run_);
      const Faulted faulted = run_with_fault(train(false), output_, call, fault);
      const std::string what = absl::StrCat("call ", call, " (", name, ")");
      const bool killed = faulted.end.signal == SIGKILL;
      const bool failed_well =
          faulted.end.exit_status == 1 && faulted.end.output.find("error: ") != std::string::npos;
      if (fault == Fault::disk_full ? !failed_well : !killed) {
        note(kind, false, absl::StrCat(what, ": ended with status ", faulted.end.exit_status),
             faulted.end.output);
        continue;
      }
      finish_and_compare(kind, what);
    }
  }
}

void Torture::at_random_moments(const Variant& variant, const std::vector<int>& signals,
                                int64_t stops, Clock::time_point deadline) {
  prepare(variant, /*tiny=*/false);
  const std::map<int, std::string> names = {
      {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}};
  int64_t done = 0;
  while (done < stops && Clock::now() < deadline) {
    const int signal = signals[random_() % signals.size()];
    const std::string kind =
        absl::StrCat(names.at(signal), " at a random moment, ", variant.name());
    const bool resumed = can_resume();
    const pid_t process = start(train(resumed), output_);
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 700'000));
    ::kill(process, signal);
    const End end = wait_for_end(process, output_);
    if (end.exit_status == 0) {  // it came to its end before the signal
      const std::string differs = difference();
      if (!differs.empty()) note(kind, false, absl::StrCat("differs: ", differs), end.output);
      fs::remove_all(run_);
      continue;
    }
    // Before the program has said anything, it may not have come to where it waits for signals.
    const bool early = end.output.empty() && end.signal == signal;
    const bool stopped =
        signal == SIGKILL ? end.signal == SIGKILL : end.exit_status == 130 && can_resume();
    if (early && signal != SIGKILL) continue;
    note(kind, stopped,
         absl::StrCat("status ", end.exit_status, ", signal ", end.signal,
                      can_resume() ? "" : ", nothing to go on with"),
         end.output);
    ++done;
  }
  finish_and_compare(absl::StrCat("the end after stops at random moments, ", variant.name()),
                     "end");
}

int Torture::report() const {
  int64_t done = 0, bad = 0;
  for (const auto& [kind, count] : counts_) {
    std::printf("%-60s %6d  bad %d\n", kind.c_str(), static_cast<int>(count.done),
                static_cast<int>(count.bad));
    done += count.done;
    bad += count.bad;
  }
  std::printf("%d ends, %d of them bad\n", static_cast<int>(done), static_cast<int>(bad));
  return bad == 0 ? 0 : 1;
}

int main_of_torture(int argc, char** argv) {
  cxxopts::Options options("torture", "Kills runs, lets them go on, and compares\n");
  const auto number = [](const char* by_default) {
    return cxxopts::value<int64_t>()->default_value(by_default);
  };
  options.add_options()                                                           //
      ("program", "The built qkv", cxxopts::value<std::string>(), "FILE")         //
      ("folder", "Where it works", cxxopts::value<std::string>(), "DIR")          //
      ("calls", "At most so many system calls are tried", number("100000"), "N")  //
      ("kills", "Stops at random moments, in all", number("1000"), "N")           //
      ("minutes", "At most so long at random moments", number("60"), "N")         //
      ("seed", "Other moments", number("1"), "S")                                 //
      ("h,help", "Says this");
  const auto parsed = options.parse(argc, argv);
  if (parsed.count("help") > 0 || parsed.count("program") == 0 || parsed.count("folder") == 0) {
    std::printf("%s", options.help().c_str());
    return parsed.count("help") > 0 ? 0 : 2;
  }
  Torture torture(parsed["program"].as<std::string>(), parsed["folder"].as<std::string>(),
                  static_cast<uint64_t>(parsed["seed"].as<int64_t>()));
  if (const int64_t calls = parsed["calls"].as<int64_t>(); calls > 0)
    torture.at_system_calls(calls);

  std::vector<Variant> variants;
  for (const char* precision : {"f32", "bf16", "f64"}) {
    for (const int threads : {1, 2, 4}) variants.push_back({precision, threads});
  }
  const int64_t kills = parsed["kills"].as<int64_t>();
  const auto start_time = Clock::now();
  const auto share =
      std::chrono::seconds(parsed["minutes"].as<int64_t>() * 60 / std::ssize(variants));
  for (size_t i = 0; i < variants.size(); ++i) {
    const auto count = std::ssize(variants), index = static_cast<int64_t>(i);
    const int64_t stops = kills * (index + 1) / count - kills * index / count;
    if (stops == 0) continue;
    torture.at_random_moments(variants[i], {SIGTERM, SIGINT, SIGTERM, SIGINT, SIGKILL}, stops,
                              start_time + share * (index + 1));
  }
  return torture.report();
}

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return qkv::main_of_torture(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
