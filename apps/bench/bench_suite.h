#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "framework/core/text/terminal.h"

namespace qkv {

struct SuiteOptions {
  int64_t steps = 0;  // of each measurement; 0: fewer of the larger shapes
  std::function<void(const std::string&)> say;  // gets each table
  TellProgress tell;                            // gets the name of each measurement
};

// `qkv bench --suite`: every shape in every precision, with one thread and with all; time and
// memory of a training step as T grows, also where attention sees a window of it alone; generation
// with and without the key/value cache. Returns all of it as one JSON object.
absl::StatusOr<std::string> run_suite(const SuiteOptions& options);

}  // namespace qkv
