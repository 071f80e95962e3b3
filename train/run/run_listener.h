#pragma once

#include <string>

#include "absl/status/status.h"
#include "train/run/metrics.h"

namespace qkv {

// What is known of a step that was made.
struct StepReport {
  Metrics metrics;         // with those of its evaluation, where one was due
  bool logged = false;     // whether it belongs into the files of the run
  bool evaluated = false;  // whether an evaluation was due
  std::string samples;     // of the evaluation: what the model answered
};

// Who watches a run: shows it to a person, or measures it. A failure ends the run.
class RunListener {
 public:
  virtual ~RunListener() = default;

  virtual void before_step() {}
  // The weights have changed; nothing else was computed yet.
  virtual absl::Status after_step() { return absl::OkStatus(); }
  virtual void evaluating(const std::string& /*what*/) {}  // how far an evaluation is
  // All that was due after the step is computed.
  virtual void report(const StepReport& /*step*/) {}
};

}  // namespace qkv
