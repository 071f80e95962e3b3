#include "train/evaluate/batch_loss.h"

#include <vector>

namespace qkv {

BatchLoss batch_loss(const Model& model, const Batch& batch, CrossEntropyOptions options,
                     ForwardContext& context) {
  const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
  options.ignored = kIgnoredTarget;
  const Tensor logits = model(inputs, context);
  return {logits, cross_entropy(logits, Tensor(batch.targets), options)};
}

}  // namespace qkv
