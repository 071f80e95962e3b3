#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "data/dataset.h"
#include "data/split.h"
#include "framework/core/status.h"
#include "framework/core/text/terminal.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {

struct BatchLoss {
  Tensor logits;  // [targets…, V]
  Tensor loss;
};

// The loss of training, of evaluation and of the gradient check: the cross-entropy of a model's
// logits with the targets of a batch that count. `options.ignored` is not read.
BatchLoss batch_loss(const Model& model, const Batch& batch, CrossEntropyOptions options,
                     ForwardContext& context);

// How well a model does on a part of the data. An example counts as right when the most likely
// token is the target at every position that counts, which is so exactly when greedy generation
// gives the answer.
struct Evaluation {
  // Over all targets, but for those that end an answer.
  double loss = 0;            // the mean
  double token_accuracy = 0;  // in [0, 1]
  int64_t tokens = 0;
  std::optional<double> end_accuracy = {};  // of those targets; none: no answer has an end
  double sequence_accuracy = 0;             // in [0, 1], the ends among the targets
  int64_t sequences = 0;
  // Targets of a text that the vocabulary does not have.
  int64_t unknown_tokens = 0;
  // The loss of all targets of a text in bits, for each byte of their UTF-8; 0 where there are
  // answers, or unknown words: nothing was said about their bytes.
  double bits_per_byte = 0;
  // The share of examples whose class is one of the five most likely.
  double top5_accuracy = 0;
  // How often the class of the row was answered with that of the column [classes, classes]; empty
  // where answers are not classes.
  std::vector<int64_t> confusion = {};

  int64_t classes() const;  // 0: no confusion
};

// Over all validation examples, or over about as many of training (all of them where they are
// fewer). A stop is answered after the batch that is being computed, by a Status: Cancelled. `tell`
// gets the number of examples done.
absl::StatusOr<Evaluation> evaluate(const Model& model, const Dataset& dataset, Split split,
                                    int64_t batch_size, const std::stop_token& stop = {},
                                    const TellProgress& tell = tell_nobody);

}  // namespace qkv
