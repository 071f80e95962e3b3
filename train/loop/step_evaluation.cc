#include "train/loop/step_evaluation.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "train/evaluate/evaluate.h"
#include "train/generate/samples.h"
#include "train/watch/finite.h"
#include "train/watch/measure_detail.h"

namespace qkv {
namespace {

constexpr int64_t kSamples = 3;

}  // namespace

bool is_numbered(const TrainOptions& options, int64_t step) {
  return options.checkpoint_interval > 0 && step % options.checkpoint_interval == 0;
}

bool is_evaluated(const TrainOptions& options, int64_t step) {
  return step == options.steps || step % options.eval_interval == 0;
}

bool is_logged(const TrainOptions& options, int64_t step) {
  return is_evaluated(options, step) || is_detailed(options, step) ||
         step % options.log_interval == 0;
}

bool has_lost_patience(const TrainOptions& options, const RunState& state) {
  return options.patience > 0 && state.evaluations_since_best >= options.patience;
}

bool has_ended(const TrainOptions& options, const RunState& state) {
  return state.step == options.steps || has_lost_patience(options, state);
}

absl::Status evaluate_step(const Config& config, Trainer& trainer, const Dataset& dataset,
                           const std::stop_token& stop, const TellProgress& tell,
                           StepReport& step) {
  Metrics& metrics = step.metrics;
  const absl::StatusOr<Evaluation> validation = trainer.evaluate(Split::kValidation, stop, tell);
  if (!validation.ok()) return validation.status();
  if (!std::isfinite(validation->loss)) {
    return absl::DataLossError(absl::StrCat("step ", metrics.step, ": the validation loss is ",
                                            validation->loss,
                                            ", not a finite number; this step was not saved. ",
                                            advice_for_blow_up(config, metrics.step)));
  }
  metrics.val_loss = validation->loss;
  if (dataset.has_answers()) {
    metrics.val_token_accuracy = validation->token_accuracy;
    metrics.val_sequence_accuracy = validation->sequence_accuracy;
    metrics.val_end_accuracy = validation->end_accuracy;
    const absl::StatusOr<Evaluation> training = trainer.evaluate(Split::kTraining, stop, tell);
    if (!training.ok()) return training.status();
    metrics.train_sequence_accuracy = training->sequence_accuracy;
  }
  tell("writing samples");
  absl::StatusOr<std::string> samples =
      describe_samples(trainer.evaluated_model(), dataset, kSamples, stop);
  if (!samples.ok()) return samples.status();
  step.samples = *std::move(samples);
  return absl::OkStatus();
}

}  // namespace qkv
