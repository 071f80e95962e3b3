#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "framework/core/clock.h"
#include "framework/core/text/terminal.h"
#include "train/folder/metrics.h"
#include "train/watch/run_listener.h"

namespace qkv {

// Tells a person how training goes: on a terminal one line that is written over,
// elsewhere plain lines.
class Progress final : public RunListener {
 public:
  // `unit` of the rate: "tokens"
  Progress(int64_t first_step, int64_t total_steps, std::string unit, std::FILE* output = stdout);

  // An evaluation is lines that stay; other steps are on the line that is written over.
  void report(const StepReport& step) override;
  void evaluating(const std::string& what) override;
  void say(const std::string& text);  // lines that stay

 private:
  std::string step_text(const Metrics& metrics) const;
  std::string status_line(const Metrics& metrics) const;
  void show_step(const Metrics& metrics);
  void show_evaluation(const Metrics& metrics);

  ProgressLine line_;
  int64_t first_step_, total_steps_;
  std::string unit_;
  Clock::time_point start_, last_print_;
};

}  // namespace qkv
