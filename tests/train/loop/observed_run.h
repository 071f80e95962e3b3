#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/train/config/parsed.h"
#include "train/config/train_options.h"
#include "train/folder/metrics.h"

namespace qkv {

// By name and shape: "head.weight f32[4, 8]".
using Weights = std::map<std::string, std::vector<double>>;

// What a run has left behind.
struct ObservedRun {
  std::string folder;                          // below the one in which it was started
  std::map<std::string, Weights> checkpoints;  // by the file's name
  std::vector<Metrics> metrics;                // a line each
  std::string samples;

  const Weights& weights() const;                    // at the end
  const Weights& weights_after(int64_t step) const;  // of the numbered checkpoint
  std::set<std::string> names_of_checkpoints() const;
  std::set<int64_t> logged() const;     // the steps that have a line
  std::set<int64_t> evaluated() const;  // and a validation loss
  const Metrics& at(int64_t step) const;

 private:
  const Weights& weights_in_file(const std::string& name) const;
};

// Trains what the config says, as `qkv train` does, in a folder of its own, and tells nothing on
// standard output.
// With `again_after` the run then goes back to the numbered checkpoint of that step, and on from
// it.
ObservedRun observe_run(const std::string& toml, const Overrides& overrides = {},
                        int64_t again_after = 0, const Overrides& again_with = {});

// A small model that learns to reverse four symbols, in ten steps and f64, so that what differs a
// little is seen to differ. --set may choose another task.
extern const char kSmallRun[];

// What a task needs beside kSmallRun; files are in `folder`, where write_data() puts them.
Overrides overrides_of(const std::string& task, const std::string& folder);
void write_data(const std::string& folder, uint64_t seed);

}  // namespace qkv
