#pragma once

#include <array>
#include <cstdint>

#include "framework/core/names.h"

namespace qkv {

enum class OptimizerKind { kSgd, kAdam, kAdamW };
template <>
inline constexpr Named<OptimizerKind> kNames<OptimizerKind>[] = {
    {"sgd", OptimizerKind::kSgd}, {"adam", OptimizerKind::kAdam}, {"adamw", OptimizerKind::kAdamW}};

// How the learning rate goes on once it has risen.
enum class Schedule { kConstant, kLinear, kCosine };
template <>
inline constexpr Named<Schedule> kNames<Schedule>[] = {{"constant", Schedule::kConstant},
                                                       {"linear", Schedule::kLinear},
                                                       {"cosine", Schedule::kCosine}};

// The [optimizer] table of a config.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double learning_rate = 1e-3;  // the highest of the schedule
  std::array<double, 2> betas = {0.9, 0.99};
  double epsilon = 1e-8;
  double momentum = 0.0;  // of sgd
  // adamw: of matrices only, decoupled; sgd and adam: added to the gradient
  double weight_decay = 0.1;
  double grad_clip = 1.0;  // the largest global norm of the gradient; 0: no clipping
  Schedule schedule = Schedule::kCosine;
  int64_t warmup_steps = 0;
  double min_learning_rate = 0.0;  // where linear and cosine end
};

}  // namespace qkv
