#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace qkv {

struct SuiteOptions {
  int64_t steps = 0;  // of each measurement; 0: fewer of the larger shapes
  bool json = false;  // one object at the end, and nothing else
};

// `qkv bench --suite`: every shape in every precision, with one thread and with all; time and
// memory of a training step as T grows, also where attention sees a window of it alone; generation
// with and without the key/value cache.
absl::Status run_suite(const SuiteOptions& options);

}  // namespace qkv
