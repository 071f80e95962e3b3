#pragma once

#include <array>
#include <cstdint>

#include "framework/core/text/names.h"

namespace qkv {

// The options that all kinds and schedules read are not in the tables.
enum class OptimizerKind { kSgd, kAdam, kAdamW, kMuon };
template <>
inline constexpr Named<OptimizerKind> kNames<OptimizerKind>[] = {
    {"sgd", OptimizerKind::kSgd, {"momentum"}},
    {"adam", OptimizerKind::kAdam, {"betas", "epsilon"}},
    {"adamw", OptimizerKind::kAdamW, {"betas", "epsilon"}},
    {"muon", OptimizerKind::kMuon, {"betas", "epsilon"}},
};

// The course of the learning rate after the warm-up.
enum class Schedule { kConstant, kLinear, kCosine, kStable };
template <>
inline constexpr Named<Schedule> kNames<Schedule>[] = {
    {"constant", Schedule::kConstant},
    {"linear", Schedule::kLinear, {"min_learning_rate"}},
    {"cosine", Schedule::kCosine, {"min_learning_rate"}},
    {"stable", Schedule::kStable, {"min_learning_rate", "decay_steps"}},
};

// The [optimizer] table of a config.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double learning_rate = 1e-3;
  double matrix_rate = 1.0;
  double embedding_rate = 1.0;
  std::array<double, 2> betas = {0.9, 0.99};
  double epsilon = 1e-8;
  double momentum = 0.0;
  double weight_decay = 0.1;
  double grad_clip = 1.0;
  Schedule schedule = Schedule::kCosine;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;
  double min_learning_rate = 0.0;

  // Each of them: its name, its limits, its meaning.
  template <class Fields>
  void describe(Fields& fields) {
    fields.add("kind", kind, "The optimizer.");
    fields.add("learning_rate", learning_rate, {.at_least = 0, .may_change_on_resume = true},
               "The peak learning rate.");
    fields.add("matrix_rate", matrix_rate, {.at_least = 0},
               "Factor of the learning rate of matrices.");
    fields.add(
        "embedding_rate", embedding_rate, {.at_least = 0},
        "Factor of the learning rate of embeddings and of a decoder's or classifier's head.");
    fields.add("betas", betas, {.at_least = 0, .below = 1},
               "Decay rates of the moving averages of the gradient and of its square.");
    fields.add("epsilon", epsilon, {.above = 0}, "Number added to the denominator of the update.");
    fields.add("momentum", momentum, {.at_least = 0, .below = 1}, "Decay rate of the velocity.");
    fields.add("weight_decay", weight_decay, {.at_least = 0},
               "Weight decay. adamw, muon: decoupled, on matrices only; sgd, adam: added to the "
               "gradient.");
    fields.add("grad_clip", grad_clip, {.at_least = 0},
               "Maximum global norm of the gradient; 0: no clipping.");
    fields.add("schedule", schedule, "The learning rate schedule.");
    fields.add("warmup_steps", warmup_steps, {.at_least = 0},
               "Number of steps in which the learning rate rises from zero towards its peak.");
    fields.add("decay_steps", decay_steps, {.at_least = 0},
               "Number of steps in which the learning rate falls at the end.");
    fields.add("min_learning_rate", min_learning_rate,
               {.at_least = 0, .may_change_on_resume = true},
               "The learning rate at the end of the schedule.");
  }
};

}  // namespace qkv
