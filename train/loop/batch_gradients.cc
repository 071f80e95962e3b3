#include "train/loop/batch_gradients.h"

#include <algorithm>
#include <utility>

#include "framework/autograd/backward.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "train/evaluate/evaluate.h"

namespace qkv {
namespace {

double count_targets(const Array& targets) {
  const int64_t* begin = targets.data<int64_t>();
  const int64_t ignored = std::count(begin, begin + targets.size(), kIgnoredTarget);
  return static_cast<double>(std::max<int64_t>(1, targets.size() - ignored));
}

// The rows in `pieces` parts, one after the other.
BatchGradients differentiate_rows(const Model& model, const std::vector<NamedParameter>& parameters,
                                  const Batch& batch, int64_t pieces,
                                  const CrossEntropyOptions& options, ForwardContext& context) {
  BatchGradients sum;
  const int64_t rows = batch.rows();
  pieces = std::min(pieces, rows);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = rows * piece / pieces;
    const int64_t count = rows * (piece + 1) / pieces - first;
    const Tensor loss = in_section("forward", [&] {
      return batch_loss(model, batch_rows(batch, first, count), options, context).loss;
    });
    const Gradients gradients = backward(loss);
    sum.loss += loss.item();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& gradient = gradients[parameters[i].tensor];
      if (piece == 0) {
        sum.gradients.push_back(gradient);
      } else {
        sum.gradients[i] = sum.gradients[i] + gradient;
      }
    }
  }
  if (pieces > 0) return sum;
  for (const NamedParameter& p : parameters) {  // a shard without rows
    sum.gradients.push_back(zeros(p.tensor.shape(), p.tensor.dtype()));
  }
  return sum;
}

}  // namespace

Batch batch_rows(const Batch& batch, int64_t first, int64_t count) {
  const auto part = [&](const Array& array) {  // [B, …] -> [count, …]
    return slice(Tensor(array), 0, first, count).array();
  };
  Batch result{.inputs = {}, .targets = part(batch.targets)};
  for (const Array& input : batch.inputs) result.inputs.push_back(part(input));
  return result;
}

BatchGradients accumulate_gradients(const Model& model,
                                    const std::vector<NamedParameter>& parameters,
                                    const Batch& batch, int64_t pieces, double label_smoothing,
                                    ForwardContext& context) {
  return differentiate_rows(
      model, parameters, batch, pieces,
      {.label_smoothing = label_smoothing, .divisor = count_targets(batch.targets)}, context);
}

ShardedBatch::ShardedBatch(const Config& config, const Model& model,
                           const std::vector<NamedParameter>& parameters, const Batch& batch,
                           int64_t step)
    : config_(config),
      model_(model),
      parameters_(parameters),
      batch_(batch),
      step_(step),
      targets_(count_targets(batch.targets)) {}

BatchGradients ShardedBatch::differentiate(ShardRange tree) const {
  if (tree.size() == 1) return differentiate_shard(tree.begin);
  BatchGradients sum = differentiate(tree.left());
  BatchGradients right = differentiate(tree.right());
  sum.loss += right.loss;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    sum.gradients[i] = sum.gradients[i] + std::exchange(right.gradients[i], Tensor());
  }
  return sum;
}

BatchGradients ShardedBatch::differentiate_shard(int64_t shard) const {
  ForwardContext context;
  context.training = true;
  context.random =
      RandomStream(config_.seed).derive("dropout").derive(static_cast<uint64_t>(step_));
  if (shards() > 1) context.random = context.random.derive(static_cast<uint64_t>(shard));
  const auto [begin, end] = part_of(batch_.rows(), shard, shards());
  const CrossEntropyOptions options = {.label_smoothing = config_.train.label_smoothing,
                                       .divisor = targets_};
  return differentiate_rows(model_, parameters_, batch_rows(batch_, begin, end - begin),
                            config_.train.accumulation_steps, options, context);
}

}  // namespace qkv
