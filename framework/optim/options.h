#pragma once

#include <array>
#include <cstdint>

#include "framework/core/names.h"

namespace qkv {

// The options that all kinds and schedules read are not in the tables.
enum class OptimizerKind { kSgd, kAdam, kAdamW };
template <>
inline constexpr Named<OptimizerKind> kNames<OptimizerKind>[] = {
    {"sgd", OptimizerKind::kSgd, {"momentum"}},
    {"adam", OptimizerKind::kAdam, {"betas", "epsilon"}},
    {"adamw", OptimizerKind::kAdamW, {"betas", "epsilon"}},
};

// How the learning rate goes on once it has risen.
enum class Schedule { kConstant, kLinear, kCosine };
template <>
inline constexpr Named<Schedule> kNames<Schedule>[] = {
    {"constant", Schedule::kConstant},
    {"linear", Schedule::kLinear, {"min_learning_rate"}},
    {"cosine", Schedule::kCosine, {"min_learning_rate"}},
};

// The [optimizer] table of a config.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double learning_rate = 1e-3;  // the highest of the schedule
  std::array<double, 2> betas = {0.9, 0.99};
  double epsilon = 1e-8;
  double momentum = 0.0;
  // adamw: of matrices only, decoupled; sgd and adam: added to the gradient
  double weight_decay = 0.1;
  double grad_clip = 1.0;  // the largest global norm of the gradient; 0: no clipping
  Schedule schedule = Schedule::kCosine;
  int64_t warmup_steps = 0;
  double min_learning_rate = 0.0;  // where the schedule ends
};

}  // namespace qkv
