#pragma once

#include <cstdint>
#include <string>

#include "data/data_options.h"
#include "framework/core/text/names.h"
#include "framework/optim/optimizer_options.h"
#include "models/model_options.h"

namespace qkv {

// Number type. bf16: linear layers multiply and pass on bf16; all else is f32.
enum class Precision { kF32, kF64, kBf16 };
template <>
inline constexpr Named<Precision> kNames<Precision>[] = {
    {"f32", Precision::kF32}, {"f64", Precision::kF64}, {"bf16", Precision::kBf16}};

// The [train] table of a config.
struct TrainOptions {
  int64_t steps = 1000;
  int64_t patience = 0;
  double max_minutes = 0;
  int64_t batch_size = 64;
  int64_t accumulation_steps = 1;
  int64_t shards = 1;
  double label_smoothing = 0.0;
  double average = 0.0;
  Precision precision = Precision::kF32;
  int64_t eval_interval = 100;
  int64_t eval_batch_size = 0;
  int64_t checkpoint_interval = -1;
  int64_t log_interval = 10;
  int64_t detail_interval = 0;
  bool tensorboard = false;
  int64_t threads = 0;
  std::string from;

  int64_t validation_batch_size() const {
    return eval_batch_size > 0 ? eval_batch_size : batch_size;
  }

  // Each of them: its name, its limits, its meaning.
  template <class Fields>
  void describe(Fields& fields) {
    fields.add("steps", steps, {.at_least = 1, .may_change_on_resume = true},
               "Number of updates of the weights.");
    fields.add("patience", patience, {.at_least = 0, .may_change_on_resume = true},
               "Number of evaluations without a smaller validation loss that end the run; 0: no "
               "limit.");
    fields.add("max_minutes", max_minutes, {.at_least = 0, .may_change_on_resume = true},
               "Minutes of training, over all resumes, that stop the run; 0: no limit.");
    fields.add("batch_size", batch_size, {.at_least = 1, .at_most = 1 << 20}, "Examples per step.");
    fields.add("accumulation_steps", accumulation_steps, {.at_least = 1, .at_most = 1 << 20},
               "Number of parts into which a step divides its batch, to add up their gradients.");
    fields.add(
        "shards", shards, {.at_least = 1, .at_most = 4096},
        "Number of parts of a batch, which the ranks of MPI share, and whose gradients are added "
        "in the order of one tree.");
    fields.add(
        "label_smoothing", label_smoothing, {.at_least = 0, .below = 1},
        "Fraction of the target probability that is spread evenly over all tokens or classes.");
    fields.add("average", average, {.at_least = 0, .below = 1},
               "Decay of the mean of the weights over the steps, which is evaluated and saved; "
               "0: the weights themselves.");
    fields.add(
        "precision", precision,
        "Number type. bf16: operands and some results of linear layers are bf16, all else is f32.");
    fields.add("eval_interval", eval_interval, {.at_least = 1, .may_change_on_resume = true},
               "Number of steps between evaluations.");
    fields.add("eval_batch_size", eval_batch_size,
               {.at_least = 0, .at_most = 1 << 20, .may_change_on_resume = true},
               "Examples per evaluation batch; 0: batch_size.");
    fields.add("checkpoint_interval", checkpoint_interval,
               {.at_least = -1, .may_change_on_resume = true},
               "Number of steps between numbered checkpoints; 0: only best and last are written; "
               "-1: at most eight in a run of a model of at most 250,000 parameters, else none.");
    fields.add("log_interval", log_interval, {.at_least = 1, .may_change_on_resume = true},
               "Number of steps between lines of metrics.jsonl.");
    fields.add(
        "detail_interval", detail_interval, {.at_least = 0, .may_change_on_resume = true},
        "Number of steps between lines of metrics.jsonl with the norms of each parameter and the "
        "entropy of each attention head; 0: none.");
    fields.add(
        "tensorboard", tensorboard, {.may_change_on_resume = true},
        "Write event files with metrics, histograms of weights and samples for TensorBoard.");
    fields.add("threads", threads, {.at_least = 0, .at_most = 4096, .may_change_on_resume = true},
               "Number of threads; 0: all cores.");
    fields.add("from", from,
               "The run or checkpoint whose weights the run begins with; empty: random weights.");
  }
};

// A whole experiment: the content of a config file.
struct Config {
  std::string name = "run";
  uint64_t seed = 1;
  DataOptions data;
  ModelOptions model;
  OptimizerOptions optimizer;
  TrainOptions train;

  template <class Fields>
  void describe(Fields& fields) {
    fields.add("name", name, "Name of the run, which is written to runs/NAME.");
    fields.add("seed", seed, {.at_least = 0}, "Seed of all random numbers in the run.");
    fields.add_table("data", data);
    fields.add_table("model", model);
    fields.add_table("attention", model.attention);
    fields.add_table("optimizer", optimizer);
    fields.add_table("train", train);
  }
};

}  // namespace qkv
