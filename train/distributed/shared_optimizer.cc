#include "train/distributed/shared_optimizer.h"

#include "absl/strings/str_cat.h"
#include "framework/core/each_of.h"
#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "train/distributed/array_bytes.h"

namespace qkv {
namespace {

// The ends of the pieces of a part, counted from its begin.
std::vector<int64_t> piece_ends(const ParameterPart& part, int64_t size_of_parameter) {
  std::vector<int64_t> ends;
  for (const int64_t end : kernels::sum_pieces(size_of_parameter)) {
    if (end > part.begin && end <= part.end) ends.push_back(end - part.begin);
  }
  return ends;
}

// Returns the elements of all arrays, one after the other.
Array joined(std::span<const Array> arrays, int64_t elements, DType dtype) {
  Array all({elements}, dtype);
  int64_t place = 0;
  for (const Array& array : arrays) {
    copy_elements(array, 0, all, place, array.size());
    place += array.size();
  }
  return all;
}

void split(const Array& all, std::span<Array> arrays) {
  int64_t place = 0;
  for (Array& array : arrays) {
    copy_elements(all, place, array, 0, array.size());
    place += array.size();
  }
}

std::vector<Array> arrays_of(std::span<const Tensor> tensors) {
  return each_of(tensors, &Tensor::array);
}

std::vector<Array> arrays_of(std::span<const NamedParameter> parameters) {
  return each_of(parameters, [](const NamedParameter& p) { return p.tensor.array(); });
}

}  // namespace

SharedOptimizer::SharedOptimizer(const std::vector<NamedParameter>& parameters, const Make& make,
                                 int64_t shards, const Optimizer* whole, Ranks& ranks)
    : parameters_(parameters),
      shards_(shards),
      ranks_(ranks),
      shares_(parameters, ranks.size()),
      exchange_(parameters, shares_, shards, ranks),
      parts_(shares_.parts(ranks.rank())) {
  for (Array& array : arrays_of(parameters_)) ranks_.broadcast(bytes_in(array), Ranks::kWeights);
  for (const ParameterPart& part : parts_) {
    const Tensor& of = parameters_[part.parameter].tensor;
    // AdamW pulls matrices alone to zero, which it tells by the shape.
    Array numbers(of.rank() >= 2 ? Shape{1, part.size()} : Shape{part.size()}, of.dtype());
    copy_elements(of.array(), part.begin, numbers, 0, part.size());
    weights_.push_back({absl::StrCat(weights_.size()), parameter(numbers)});
  }
  optimizer_ = make(weights_);
  int64_t steps = whole ? whole->steps() : 0;
  ranks_.broadcast(bytes_of(std::span(&steps, 1)), Ranks::kState);
  optimizer_->set_steps(steps);
  share_state(whole);
}

std::vector<SharedOptimizer::Arrays> SharedOptimizer::states_of(const Optimizer& optimizer,
                                                                size_t parameters) {
  std::vector<Arrays> states;
  if (parameters == 0) return states;
  const std::vector<NamedState> all = optimizer.state();
  const size_t kinds = all.size() / parameters - (optimizer.averages().empty() ? 0 : 1);
  for (size_t kind = 0; kind < kinds; ++kind) {
    Arrays& arrays = states.emplace_back();
    for (size_t i = 0; i < parameters; ++i) arrays.push_back(all[kind * parameters + i].array);
  }
  return states;
}

void SharedOptimizer::share_state(const Optimizer* whole) {
  std::vector<Arrays> own = states_of(*optimizer_, weights_.size());
  if (!optimizer_->averages().empty()) own.push_back(arrays_of(optimizer_->averages()));
  if (!ranks_.leads()) {
    for (Arrays& arrays : own) {
      Array all({shares_.elements(ranks_.rank())}, parameters_[0].tensor.dtype());
      Ranks::Message message = ranks_.receive(0, Ranks::kState, bytes_in(all));
      ranks_.wait(message);
      split(all, arrays);
    }
    return;
  }
  std::vector<Arrays> states = states_of(*whole, parameters_.size());
  if (!whole->averages().empty()) states.push_back(arrays_of(whole->averages()));
  for (size_t kind = 0; kind < states.size(); ++kind) {
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (shares_.elements(rank) == 0) continue;
      const Array all = packed(states[kind], rank);
      Ranks::Message message = ranks_.send(rank, Ranks::kState, bytes_in(all));
      ranks_.wait(message);
    }
    if (kind < own.size()) split(packed(states[kind], 0), own[kind]);
  }
}

SharedOptimizer::Sums SharedOptimizer::sums(std::span<const double> losses_of_own_shards,
                                            bool stop) {
  const std::vector<Array> sums = exchange_.finish();
  const ObservedSection section("gradient norm");
  gradients_.clear();
  // A rank says whether it was asked to stop, its losses, and the sums of squares of its pieces.
  std::vector<double> mine = {stop ? 1.0 : 0.0};
  mine.insert(mine.end(), losses_of_own_shards.begin(), losses_of_own_shards.end());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t size = parameters_[parts_[i].parameter].tensor.size();
    const std::vector<double> squares =
        kernels::sums_of_squares(sums[i], piece_ends(parts_[i], size));
    mine.insert(mine.end(), squares.begin(), squares.end());
    gradients_.emplace_back(sums[i].reshaped(weights_[i].tensor.shape()));
  }
  std::vector<int64_t> counts;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    int64_t count = 1 + shards_of_rank(shards_, rank, ranks_.size()).size();
    for (const ParameterPart& part : shares_.parts(rank)) {
      count += std::ssize(piece_ends(part, parameters_[part.parameter].tensor.size()));
    }
    counts.push_back(count);
  }
  const std::vector<double> all = ranks_.gather_on_all(mine, counts);

  Sums result;
  TreeSum<double> loss({0, shards_});
  std::vector<std::vector<double>> pieces(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    pieces[i].resize(kernels::sum_pieces(parameters_[i].tensor.size()).size());
  }
  auto next = all.begin();
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    result.stop |= *next++ != 0;
    const ShardRange shards = shards_of_rank(shards_, rank, ranks_.size());
    for (int64_t shard = shards.begin; shard < shards.end; ++shard) {
      loss.add({shard, shard + 1}, *next++, [](double a, double b) { return a + b; });
    }
    for (const ParameterPart& part : shares_.parts(rank)) {
      std::vector<double>& of_parameter = pieces[part.parameter];
      const std::vector<int64_t> ends =
          kernels::sum_pieces(parameters_[part.parameter].tensor.size());
      for (size_t piece = 0; piece < ends.size(); ++piece) {
        if (ends[piece] > part.begin && ends[piece] <= part.end) of_parameter[piece] = *next++;
      }
    }
  }
  result.loss = loss.sum();
  for (const std::vector<double>& of_parameter : pieces) {
    double sum = 0;
    for (const double piece : of_parameter) sum += piece;
    result.squares.push_back(sum);
  }
  return result;
}

void SharedOptimizer::step(double learning_rate, double gradient_scale) {
  optimizer_->step(gradients_, learning_rate, gradient_scale);
  gradients_.clear();
  const ObservedSection section("weights of other ranks");
  gather(arrays_of(weights_), arrays_of(parameters_));
}

void SharedOptimizer::gather(const Arrays& own, Arrays whole) {
  const DType dtype = parameters_[0].tensor.dtype();
  const Array mine = joined(own, shares_.elements(ranks_.rank()), dtype);
  std::vector<Array> others;
  std::vector<Ranks::Message> received, sent;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const int64_t elements = rank == ranks_.rank() ? 0 : shares_.elements(rank);
    Array& other = others.emplace_back(Array({elements}, dtype));
    received.push_back(elements == 0 ? Ranks::Message()
                                     : ranks_.receive(rank, Ranks::kWeights, bytes_in(other)));
  }
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank == ranks_.rank() || mine.size() == 0) continue;
    sent.push_back(ranks_.send(rank, Ranks::kWeights, bytes_in(mine)));
  }
  unpack(mine, ranks_.rank(), whole);
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank == ranks_.rank()) continue;
    ranks_.wait(received[static_cast<size_t>(rank)]);
    unpack(others[static_cast<size_t>(rank)], rank, whole);
  }
  ranks_.wait_all(sent);
}

void SharedOptimizer::gather_state(Optimizer* whole) {
  if (whole) whole->set_steps(steps());
  std::vector<Arrays> own = states_of(*optimizer_, weights_.size());
  const DType dtype = parameters_[0].tensor.dtype();
  if (!ranks_.leads()) {
    for (const Arrays& arrays : own) {
      const Array all = joined(arrays, shares_.elements(ranks_.rank()), dtype);
      Ranks::Message message = ranks_.send(0, Ranks::kState, bytes_in(all));
      ranks_.wait(message);
    }
    return;
  }
  std::vector<Arrays> states = states_of(*whole, parameters_.size());
  for (size_t kind = 0; kind < states.size(); ++kind) {
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      if (shares_.elements(rank) == 0) continue;
      Array all({shares_.elements(rank)}, dtype);
      if (rank == 0) {
        all = joined(own[kind], shares_.elements(0), dtype);
      } else {
        Ranks::Message message = ranks_.receive(rank, Ranks::kState, bytes_in(all));
        ranks_.wait(message);
      }
      unpack(all, rank, states[kind]);
    }
  }
}

void SharedOptimizer::gather_averages(std::span<const Tensor> averages) {
  gather(arrays_of(optimizer_->averages()), arrays_of(averages));
}

// Returns what `rank` owns of arrays with the parameters' shapes, one part after the other.
Array SharedOptimizer::packed(const Arrays& whole, int rank) const {
  Array all({shares_.elements(rank)}, parameters_[0].tensor.dtype());
  int64_t place = 0;
  for (const ParameterPart& part : shares_.parts(rank)) {
    copy_elements(whole[part.parameter], part.begin, all, place, part.size());
    place += part.size();
  }
  return all;
}

void SharedOptimizer::unpack(const Array& packed, int rank, Arrays& whole) const {
  int64_t place = 0;
  for (const ParameterPart& part : shares_.parts(rank)) {
    copy_elements(packed, place, whole[part.parameter], part.begin, part.size());
    place += part.size();
  }
}

}  // namespace qkv
