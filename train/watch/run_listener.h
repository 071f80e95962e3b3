#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/status.h"
#include "models/model.h"
#include "train/config/train_options.h"
#include "train/folder/metrics.h"

namespace qkv {

// The results of a step.
struct StepReport {
  Metrics metrics;         // with those of its evaluation, where one was due
  bool logged = false;     // whether it belongs into the files of the run
  bool evaluated = false;  // whether an evaluation was due
  std::string samples;     // of the evaluation: the model's answers
};

// A listener follows a run: shows it to a person, measures it, or writes files of its own. A
// failure ends the run.
class RunListener {
 public:
  virtual ~RunListener() = default;

  // Steps are made, or reported, from this one on.
  virtual absl::Status begin(const std::string& /*folder*/, int64_t /*first_step*/) {
    return absl::OkStatus();
  }
  virtual void before_step() {}
  // The weights have changed; nothing else was computed yet.
  virtual absl::Status after_step() { return absl::OkStatus(); }
  virtual void evaluating(const std::string& /*what*/) {}  // how far an evaluation is
  // All that was due after the step is computed.
  virtual void report(const StepReport& /*step*/) {}
  // The lines of a logged step are in the run's files. `model` is the one evaluated.
  virtual absl::Status record(const StepReport& /*step*/, const Model& /*model*/) {
    return absl::OkStatus();
  }
  // A checkpoint is to be written: the lines before it must be on the disk.
  virtual absl::Status flush() { return absl::OkStatus(); }
};

// A listener of every run, from apps/APP/listeners/NAME.cc; cmake/apps.cmake makes the list of the
// folders that are there. nullptr: the config asks for nothing of it.
struct ListenerOfApp {
  std::string name;
  std::unique_ptr<RunListener> (*make)(const Config& config);
};
std::span<const ListenerOfApp> listeners_of_apps();

}  // namespace qkv
