#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"

namespace qkv {

// What `qkv bench` trains, and on what.
struct Workload {
  Config config;
  std::string description;
  std::unique_ptr<Dataset> dataset;
};

absl::StatusOr<Workload> workload_of_config(const std::string& config,
                                            const std::vector<std::string>& overrides);

// A shape of apps/bench/bench_shapes.h. `overrides` may change neither its kind nor its data.
absl::StatusOr<Workload> workload_of_shape(const std::string& name,
                                           const std::vector<std::string>& overrides);

// Whether there is memory for measure_steps(): a step, and a copy of all that its matrix products
// read and write, for the floor.
absl::Status check_fits(const Workload& workload);

}  // namespace qkv
