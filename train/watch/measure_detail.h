#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "train/config/train_options.h"
#include "train/folder/metrics.h"

namespace qkv {

bool is_detailed(const TrainOptions& options, int64_t step);  // of a step, counted from 1

// Measures one step. It changes nothing of it, and draws no random number.
class DetailMeter {
 public:
  // Before the weights change.
  explicit DetailMeter(std::span<const NamedParameter> parameters);

  // After they have; `squares` are the sums of squares of their gradients. The entropy of a head is
  // the mean over the queries of `examples` of
  //   -sum_k p_k ln p_k
  // with their weights p of the keys, made by the new weights of the model without dropout.
  StepDetail measure(std::span<const double> squares, const Model& model,
                     const Batch& examples) const;

 private:
  std::span<const NamedParameter> parameters_;
  std::vector<Array> before_;
};

// How many examples of a batch `measure` is given: an eighth of them, at least 1 and at most 8, so
// that it takes little beside the step.
int64_t detail_examples(int64_t batch_size);

}  // namespace qkv
