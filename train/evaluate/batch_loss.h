#pragma once

#include "data/dataset.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {

struct BatchLoss {
  Tensor logits;  // [targets…, V]
  Tensor loss;
};

// What training minimizes, and evaluation and the gradient check look at: the cross-entropy of a
// model's logits with the targets of a batch that count. `options.ignored` is not read.
BatchLoss batch_loss(const Model& model, const Batch& batch, CrossEntropyOptions options,
                     ForwardContext& context);

}  // namespace qkv
