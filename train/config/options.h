#pragma once

#include <cstdint>
#include <string>

#include "data/options.h"
#include "framework/core/names.h"
#include "framework/optim/options.h"
#include "models/options.h"

namespace qkv {

// Number type. bf16: linear layers multiply and pass on bf16; all else is f32.
enum class Precision { kF32, kF64, kBf16 };
template <>
inline constexpr Named<Precision> kNames<Precision>[] = {
    {"f32", Precision::kF32}, {"f64", Precision::kF64}, {"bf16", Precision::kBf16}};

// The [train] table of a config.
struct TrainOptions {
  int64_t steps = 1000;
  int64_t patience = 0;    // evaluations without a smaller validation loss; 0: no limit
  double max_minutes = 0;  // of training, over all resumes; 0: no limit
  int64_t batch_size = 64;
  int64_t accumulation_steps = 1;  // parts of a batch whose gradients a step adds up
  int64_t shards = 1;              // parts of a batch that ranks share, summed along one tree
  double label_smoothing = 0.0;
  double average = 0.0;  // the decay of the mean of the weights; 0: there is none
  Precision precision = Precision::kF32;
  int64_t eval_interval = 100;      // steps between evaluations
  int64_t eval_batch_size = 0;      // 0: batch_size
  int64_t checkpoint_interval = 0;  // steps between numbered ones; 0: only best and last are kept
  int64_t log_interval = 10;        // steps between lines of metrics
  int64_t detail_interval = 0;      // steps between lines with the details of each layer; 0: none
  bool tensorboard = false;         // write event files
  int64_t threads = 0;              // 0: all cores
  std::string from;                 // the run whose weights it begins with; "": random ones

  int64_t validation_batch_size() const {
    return eval_batch_size > 0 ? eval_batch_size : batch_size;
  }
};

// A whole experiment: what a config file says.
struct Config {
  std::string name = "run";
  uint64_t seed = 1;
  DataOptions data;
  ModelOptions model;
  OptimizerOptions optimizer;
  TrainOptions train;
};

}  // namespace qkv
