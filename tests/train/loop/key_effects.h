#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/train/loop/observed_run.h"

namespace qkv {

// What can differ between two runs. Numbers are compared at the steps that both have.
enum Part : unsigned {
  kNothing = 0,
  kFolder = 1 << 0,       // where it stands
  kLines = 1 << 1,        // which steps have a line of metrics
  kEvaluated = 1 << 2,    // which of them a validation loss
  kCheckpoints = 1 << 3,  // which checkpoints there are
  kStart = 1 << 4,        // the loss and the gradient's norm of step 1
  kCourse = 1 << 5,       // those of the others
  kRate = 1 << 6,         // the learning rates
  kWeights = 1 << 7,      // of the last checkpoint: names, shapes and numbers
  kValidation = 1 << 8,   // the losses and accuracies of evaluations
  kSamples = 1 << 9,      // what was answered; with other weights it may be the same
};
inline constexpr unsigned kLearning = kCourse | kWeights | kValidation;
inline constexpr unsigned kAll = kStart | kLearning;

// A key, what it needs around it, and values: what differs between the runs of any two of them.
// Where another key decides who reads it, `around` says which of them is meant; else every reader.
struct KeyEffect {
  std::string key;
  Overrides around;
  std::vector<std::string> values;  // none: all those of a choice
  unsigned differs;                 // in all of this
  unsigned may_differ = kNothing;   // beside it; all the rest is equal to the last bit
  double at_most = INFINITY;        // by how much a number differs
};

// What every key of a config does.
const std::vector<KeyEffect>& effects();

}  // namespace qkv
