#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// One of `config`, `shape` and `suite`: a config file, a shape of train/bench/bench_shapes.h, or
// the whole table of train/bench/bench_suite.h, to which only `steps` and `json` apply.
struct BenchOptions {
  std::string config, shape;
  bool suite = false;
  std::vector<std::string> overrides;
  std::string precision;         // "": as the config says
  std::optional<int64_t> steps;  // none: 60, or what suits each row of the suite
  bool generation = false;       // tokens a second in writing, instead of a training step
  bool json = false;
};

// `qkv bench`: prints how long a training step takes, the floor under it, and a profile. Errors as
// in cli/commands.h.
absl::Status bench_command(const BenchOptions& options);

}  // namespace qkv
