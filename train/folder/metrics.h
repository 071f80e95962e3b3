#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/status.h"

namespace qkv {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// The additional part of a line of metrics.jsonl after each train.detail_interval steps: norms of
// each parameter, by its name in checkpoints, and the entropy of each head of each attention layer,
// by the path of its weights in traces. All with 6 significant digits.
struct StepDetail {
  NamedNumbers gradient_norm;  // before clipping
  NamedNumbers weight_norm;    // after the step
  NamedNumbers
      update_ratio;  // the norm of the step's change / weight_norm; 0 where it changed nothing
  std::vector<std::pair<std::string, std::vector<double>>> attention_entropy;  // in nats

  bool operator==(const StepDetail&) const = default;
};

// All its numbers in one list: "gradient_norm/NAME", …, "attention_entropy/PATH/HEAD".
NamedNumbers detail_numbers(const StepDetail& detail);

// One line of metrics.jsonl. Numbers that were not measured at this step are not in the line.
struct Metrics {
  int64_t step = 0;
  std::optional<double> loss;  // of the training batch
  std::optional<double> learning_rate;
  std::optional<double> grad_norm;  // before clipping
  std::optional<double> tokens_per_second;
  std::optional<double> elapsed_seconds;  // since training began, over all resumes
  std::optional<double> val_loss;
  std::optional<double> val_token_accuracy;     // in [0, 1]
  std::optional<double> val_sequence_accuracy;  // in [0, 1]: every token of the answer right
  std::optional<double> train_sequence_accuracy;
  std::optional<double> val_end_accuracy;  // in [0, 1]: of the tokens that end an answer
  std::optional<StepDetail> detail = {};

  bool operator==(const Metrics&) const = default;
};

// {"step":10,"loss":2.25,…}: fields in the order above, numbers that read back as the same double.
// JSON has no NaN and no infinity: they become null, which reads back as NaN.
std::string metrics_to_json(const Metrics& metrics);
absl::StatusOr<Metrics> metrics_from_json(std::string_view line);

// The numbers of a line besides the step, under their names; those of its detail as in
// detail_numbers().
NamedNumbers metrics_numbers(const Metrics& metrics);

// Every line of a metrics.jsonl. A last line without a line end is skipped: it is being written, or
// a crash has torn it. Errors begin with "FILE:LINE: ".
absl::StatusOr<std::vector<Metrics>> read_metrics(const std::string& path);

// For a resume after `last_step`: drops the lines of later steps, and a torn last line. So that
// none is lost, the metrics of a step are to be written before its checkpoint.
absl::Status cut_metrics(const std::string& path, int64_t last_step);

}  // namespace qkv
