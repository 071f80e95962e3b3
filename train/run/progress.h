#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "train/run/metrics.h"

namespace qkv {

// Tells a person on standard output how training goes: on a terminal one line that is written over,
// elsewhere plain lines.
class Progress {
 public:
  Progress(int64_t first_step, int64_t total_steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const Metrics& metrics);        // after a step; cheap, mostly prints nothing
  void evaluation(const Metrics& metrics);  // a line that stays
  void say(const std::string& text);        // lines that stay

 private:
  using Clock = std::chrono::steady_clock;

  std::string status_line(const Metrics& metrics) const;
  void clear_line();

  bool terminal_;
  bool line_shown_ = false;
  int64_t first_step_, total_steps_;
  Clock::time_point start_, last_print_;
};

std::string format_duration(double seconds);  // "42 s", "3 min 05 s", "2 h 10 min"
std::string format_percent(double share);     // "99.9 %", never rounded up to 100 %

}  // namespace qkv
