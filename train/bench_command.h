#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// One of `config` and `shape`: a config file, or a shape of train/bench_shapes.h.
struct BenchOptions {
  std::string config, shape;
  std::vector<std::string> overrides;
  std::string precision;  // "": as the config says
  int64_t steps = 60;
  bool json = false;
};

// `qkv bench`: prints how long a training step takes, the floor under it, and a profile. Errors as
// in train/commands.h.
absl::Status bench_command(const BenchOptions& options);

}  // namespace qkv
