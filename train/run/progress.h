#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "train/run/metrics.h"
#include "train/run/run_listener.h"

namespace qkv {

// Tells a person on standard output how training goes: on a terminal one line that is written over,
// elsewhere plain lines.
class Progress final : public RunListener {
 public:
  // `unit`: what is read, "tokens"
  Progress(int64_t first_step, int64_t total_steps, std::string unit);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // An evaluation is lines that stay; after other steps mostly nothing is printed.
  void report(const StepReport& step) override;
  void say(const std::string& text);  // lines that stay, escaped (framework/core/utf8.h)

 private:
  using Clock = std::chrono::steady_clock;

  std::string status_line(const Metrics& metrics) const;
  void show_step(const Metrics& metrics);
  void show_evaluation(const Metrics& metrics);
  void clear_line();

  bool terminal_;
  bool line_shown_ = false;
  int64_t first_step_, total_steps_;
  std::string unit_;
  Clock::time_point start_, last_print_;
};

std::string format_duration(double seconds);  // "42 s", "3 min 05 s", "2 h 10 min"
std::string format_percent(double share);     // "99.9 %", never rounded up to 100 %

}  // namespace qkv
