#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "framework/core/text/terminal.h"
#include "train/config/train_options.h"
#include "train/watch/profile.h"

namespace qkv {

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};

// A roofline that is measured: the time of the matrix products of one step alone, of the same
// shapes, transposes and number types, each as fast as the library of products can.
// framework/kernels/product/product_log.h says what counts as a product.
struct FloorMeasurement {
  Quartiles ms;
  double gflops = 0;
  double ratio = 0;   // of the median step to the median floor
  double cut_ms = 0;  // the same products in the pieces that a step computes, the median
};

// How long training steps take, data, clipping and optimizer included.
struct StepMeasurement {
  Quartiles step_ms;
  std::optional<FloorMeasurement> floor;  // none where a step multiplies nothing
  double tokens_per_second = 0;           // at the median
  double gflops = 0;                      // of the products, at the median step
  uint64_t peak_bytes = 0;                // of all tensors, at the highest moment of a step
  int64_t steps = 0;                      // measured
  int64_t parameters = 0;
  int threads = 0;
  std::vector<ProfileRow> profile;  // of steps of their own, which count for nothing else
  int64_t profiled_steps = 0;
};

// Trains a new model. Steps and floor take turns, so that noise hits both.
absl::StatusOr<StepMeasurement> measure_steps(const Config& config, const Dataset& dataset,
                                              int64_t steps,
                                              const TellProgress& tell = tell_nobody);

// The lines of the floor and of the ratio, or a sentence that there is none.
std::string floor_text(const std::optional<FloorMeasurement>& floor);

// The median step alone, in milliseconds: no floor, whose matrices are as large as all the scores.
absl::StatusOr<double> measure_step_time(const Config& config, const Dataset& dataset,
                                         int64_t steps);

struct GenerationSpeed {
  double tokens_per_second = 0;  // with a key/value cache
  double without_cache = 0;
};

// A new model writes from one token, or from a whole source, until its positions are full, every
// token drawn by chance.
GenerationSpeed measure_generation(const Config& config, const Dataset& dataset);

}  // namespace qkv
