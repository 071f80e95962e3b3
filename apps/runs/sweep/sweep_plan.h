#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/status.h"
#include "train/config/train_options.h"

namespace qkv {

// A person's request for a sweep.
struct SweepRequest {
  std::string config;                 // the file
  std::vector<std::string> settings;  // each "key=values", as after --set
  std::optional<int64_t> seeds;       // how many, from the config's seed on; 1 where it is missing
  std::string out;                    // "": runs/NAME-sweep
};

// One run of a sweep.
struct SweepRun {
  std::string name;    // "learning_rate=0.001,seed=1"
  std::string folder;  // "runs/reverse-sweep/learning_rate=0.001,seed=1"
  Config config;
};

// The runs that differ in their seeds alone.
struct Combination {
  std::vector<std::string> values;  // of the plan's keys, as TOML
  std::vector<SweepRun> runs;
};

struct SweepPlan {
  std::string folder;
  std::vector<std::string> keys;  // those with more than one value, without "seed"
  std::vector<Combination> combinations;
  std::vector<std::string> notes;
};

// The values of a list: the parts between its commas. A comma in brackets, or in a value that
// begins with a quote, belongs to the value: [0.9,0.95] is one, [0.9,0.95],[0.9,0.99] are two.
std::vector<std::string> values_of_list(std::string_view text);

// Every combination of the values times every seed. All mistakes of all combinations come in one
// Status, each once: those of the configs, data that cannot be made, folders that hold another run.
absl::StatusOr<SweepPlan> plan_sweep(const SweepRequest& request);

}  // namespace qkv
