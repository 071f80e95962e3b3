#include "train/run/batch_gradients.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "framework/autograd/backward.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "train/distributed/shard_tree.h"
#include "train/run/batch_loss.h"

namespace qkv {
namespace {

double count_targets(const Array& targets) {
  const int64_t* begin = targets.data<int64_t>();
  const int64_t ignored = std::count(begin, begin + targets.size(), kIgnoredTarget);
  return static_cast<double>(std::max<int64_t>(1, targets.size() - ignored));
}

Tensor added(const Tensor& sum, const Tensor& gradient) {
  return sum.defined() ? sum + gradient : gradient;
}

// The rows in `pieces` parts, one after the other.
double differentiate_rows(const Model& model, const std::vector<NamedParameter>& parameters,
                          const Batch& batch, int64_t pieces, const CrossEntropyOptions& options,
                          ForwardContext& context, bool early, const ShardedBatch::Take& take) {
  std::vector<Tensor> sums(parameters.size());
  std::unordered_map<const Node*, size_t> numbers;
  for (size_t i = 0; i < parameters.size(); ++i) numbers[parameters[i].tensor.node().get()] = i;
  double sum_of_losses = 0;
  const int64_t rows = batch.rows();
  pieces = std::min(pieces, rows);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = rows * piece / pieces;
    const int64_t count = rows * (piece + 1) / pieces - first;
    const Tensor loss = in_section("forward", [&] {
      return batch_loss(model, batch_rows(batch, first, count), options, context).loss;
    });
    BackwardOptions walk;
    if (early && piece + 1 == pieces) {
      walk.take_leaf = [&](const Node* leaf, const Tensor& gradient) {
        const auto found = numbers.find(leaf);
        if (found == numbers.end()) return;
        take(found->second, added(sums[found->second], gradient));
        sums[found->second] = Tensor();
        numbers.erase(found);
      };
    }
    const Gradients gradients = backward(loss, walk);
    sum_of_losses += loss.item();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!numbers.contains(parameters[i].tensor.node().get())) continue;  // taken
      sums[i] = added(sums[i], gradients[parameters[i].tensor]);
      if (piece + 1 == pieces) take(i, std::move(sums[i]));
    }
  }
  if (pieces > 0) return sum_of_losses;
  for (size_t i = 0; i < parameters.size(); ++i) {  // a shard without rows
    take(i, zeros(parameters[i].tensor.shape(), parameters[i].tensor.dtype()));
  }
  return 0;
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
  BatchGradients result;
  result.gradients.resize(parameters.size());
  result.loss = differentiate_rows(
      model, parameters, batch, pieces,
      {.label_smoothing = label_smoothing, .divisor = count_targets(batch.targets)}, context,
      /*early=*/false,
      [&](size_t i, Tensor gradient) { result.gradients[i] = std::move(gradient); });
  return result;
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

double ShardedBatch::differentiate(int64_t shard, bool early, const Take& take) const {
  const int64_t shards = config_.train.shards;
  ForwardContext context;
  context.training = true;
  context.random =
      RandomStream(config_.seed).derive("dropout").derive(static_cast<uint64_t>(step_));
  if (shards > 1) context.random = context.random.derive(static_cast<uint64_t>(shard));
  const auto [begin, end] = shards_of_rank(batch_.rows(), shard, shards);
  const CrossEntropyOptions options = {.label_smoothing = config_.train.label_smoothing,
                                       .divisor = targets_};
  return differentiate_rows(model_, parameters_, batch_rows(batch_, begin, end - begin),
                            config_.train.accumulation_steps, options, context, early, take);
}

BatchGradients ShardedBatch::differentiate_all() const {
  const ShardRange all = {0, config_.train.shards};
  TreeSum<double> losses(all);
  std::vector<TreeSum<Tensor>> sums(parameters_.size(), TreeSum<Tensor>(all));
  for (int64_t shard = all.begin; shard < all.end; ++shard) {
    const ShardRange leaf = {shard, shard + 1};
    const double loss = differentiate(shard, /*early=*/false, [&](size_t i, Tensor gradient) {
      sums[i].add(leaf, std::move(gradient),
                  [](const Tensor& a, const Tensor& b) { return a + b; });
    });
    losses.add(leaf, loss, [](double a, double b) { return a + b; });
  }
  BatchGradients result = {.loss = losses.sum(), .gradients = {}};
  for (TreeSum<Tensor>& sum : sums) result.gradients.push_back(std::move(sum.sum()));
  return result;
}

}  // namespace qkv
