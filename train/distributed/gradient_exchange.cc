#include "train/distributed/gradient_exchange.h"

#include <utility>

#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"
#include "train/distributed/array_bytes.h"

namespace qkv {

GradientExchange::GradientExchange(const std::vector<NamedParameter>& parameters,
                                   const ParameterShares& shares, int64_t shards, Ranks& ranks)
    : parameters_(parameters), shares_(shares), shards_(shards), ranks_(ranks) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) first_own_ = trees_.size();
    for (const ShardRange tree : subtrees(shards, shards_of(rank))) {
      trees_.push_back(tree);
      rank_of_.push_back(rank);
    }
  }
}

Array GradientExchange::new_packet(int64_t bucket, int owner) const {
  return Array({shares_.elements(bucket, owner)}, parameters_[0].tensor.dtype());
}

void GradientExchange::begin() {
  own_.clear();
  incoming_.clear();
  const int self = ranks_.rank();
  for (int64_t bucket = 0; bucket < shares_.buckets(); ++bucket) {
    for (size_t tree = 0; tree < trees_.size(); ++tree) {
      Packet& packet = incoming_.emplace_back(Packet{
          .tree = static_cast<int64_t>(tree), .bucket = bucket, .owner = self, .numbers = {}});
      if (rank_of_[tree] == self || shares_.elements(bucket, self) == 0) continue;
      packet.numbers = new_packet(bucket, self);
      packet.message = ranks_.receive(rank_of_[tree], Ranks::kGradients + static_cast<int>(bucket),
                                      bytes_in(packet.numbers));
    }
  }
}

void GradientExchange::add(int64_t shard, size_t parameter, Tensor gradient) {
  const ObservedSection section("sum of gradients");
  const NoGrad no_grad;
  if (own_.empty() || trees_[first_own_ + own_.size() - 1].end <= shard) {
    const ShardRange tree = trees_[first_own_ + own_.size()];
    OwnTree& own = own_.emplace_back();
    own.sums.assign(parameters_.size(), TreeSum<Tensor>(tree));
    own.packets.resize(static_cast<size_t>(shares_.buckets()));
    for (int64_t bucket = 0; bucket < shares_.buckets(); ++bucket) {
      own.missing.push_back(shares_.parameters_in(bucket));
    }
  }
  OwnTree& own = own_.back();
  TreeSum<Tensor>& sum = own.sums[parameter];
  sum.add({shard, shard + 1}, std::move(gradient), [](Tensor a, const Tensor& b) {
    if (a.array().storage().is_shared()) return qkv::add(a, b);
    Array total = a.array();
    kernels::binary(kernels::Binary::add, total, b.array(), total);
    return a;
  });
  if (shard + 1 < trees_[first_own_ + own_.size() - 1].end) return;
  const Tensor complete = std::exchange(sum.sum(), Tensor());
  pack(own, parameter, complete.array());
}

void GradientExchange::pack(OwnTree& tree, size_t parameter, const Array& gradient) {
  const int64_t bucket = shares_.bucket_of(parameter);
  std::vector<Packet>& packets = tree.packets[static_cast<size_t>(bucket)];
  if (packets.empty()) {
    for (int owner = 0; owner < ranks_.size(); ++owner) {
      packets.push_back({.tree = static_cast<int64_t>(first_own_) + std::ssize(own_) - 1,
                         .bucket = bucket,
                         .owner = owner,
                         .numbers = new_packet(bucket, owner)});
    }
  }
  for (Packet& packet : packets) {
    int64_t place = 0;
    for (const ParameterPart& part : shares_.parts(bucket, packet.owner)) {
      if (part.parameter == parameter) {
        copy_elements(gradient, part.begin, packet.numbers, place, part.size());
      }
      place += part.size();
    }
  }
  if (--tree.missing[static_cast<size_t>(bucket)] == 0) send(packets);
}

void GradientExchange::send(std::vector<Packet>& packets) {
  for (Packet& packet : packets) {
    if (packet.owner == ranks_.rank()) {
      incoming_[static_cast<size_t>(packet.bucket) * trees_.size() +
                static_cast<size_t>(packet.tree)]
          .numbers = std::move(packet.numbers);
    } else if (packet.numbers.size() > 0) {
      packet.message =
          ranks_.send(packet.owner, Ranks::kGradients + static_cast<int>(packet.bucket),
                      bytes_in(std::as_const(packet.numbers)));
    }
  }
}

void GradientExchange::poll() {
  for (Packet& packet : incoming_) {
    if (packet.message.done()) continue;
    ranks_.poll(packet.message);  // which lets all of them move on
    if (!packet.message.done()) return;
  }
}

// Returns the sum over all shards of what this rank owns of a bucket, one part after the other.
Array GradientExchange::sum_of(int64_t bucket) {
  TreeSum<Array> sum({0, shards_});
  for (size_t tree = 0; tree < trees_.size(); ++tree) {
    Packet& packet = incoming_[static_cast<size_t>(bucket) * trees_.size() + tree];
    ranks_.wait(packet.message);
    sum.add(trees_[tree], std::move(packet.numbers), [](Array a, const Array& b) {
      kernels::binary(kernels::Binary::add, a, b, a);
      return a;
    });
  }
  return std::move(sum.sum());
}

std::vector<Array> GradientExchange::finish() {
  const ObservedSection section("sum of gradients");
  std::vector<Array> sums;
  for (int64_t bucket = 0; bucket < shares_.buckets(); ++bucket) {
    if (shares_.elements(bucket, ranks_.rank()) == 0) continue;
    const Array all = sum_of(bucket);
    int64_t place = 0;
    for (const ParameterPart& part : shares_.parts(bucket, ranks_.rank())) {
      Array& own = sums.emplace_back(Array({part.size()}, all.dtype()));
      copy_elements(all, place, own, 0, part.size());
      place += part.size();
    }
  }
  for (OwnTree& own : own_) {
    for (std::vector<Packet>& packets : own.packets) {
      for (Packet& packet : packets) ranks_.wait(packet.message);
    }
  }
  own_.clear();
  incoming_.clear();
  return sums;
}

}  // namespace qkv
