#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/array.h"
#include "framework/nn/module.h"
#include "train/distributed/parameter_shares.h"
#include "train/distributed/ranks.h"
#include "train/distributed/shard_tree.h"

namespace qkv {

// Adds up the gradients of the shards of one step along their tree, of which each rank computes
// some leaves. A rank adds up its own subtrees; as soon as a subtree's gradients of a bucket are
// complete, it sends each owner that owner's part, and the owner adds up what came from all.
//
// For each of its subtrees a rank sends all elements but those that it owns. Where each rank has
// one subtree (1, 2, 4, 8 ranks share 8 shards) that is the least that can be sent.
class GradientExchange {
 public:
  // What is referred to must outlive it.
  GradientExchange(const std::vector<NamedParameter>& parameters, const ParameterShares& shares,
                   int64_t shards, Ranks& ranks);

  ShardRange shards_of_this_rank() const { return shards_of(ranks_.rank()); }

  // Before the first gradient of a step: lets the others send.
  void begin();
  // Takes the gradient of a parameter of one of this rank's shards. The shards come in order, the
  // parameters of a shard in any.
  void add(int64_t shard, size_t parameter, Tensor gradient);
  // Lets messages move on.
  void poll();
  // After the last gradient: returns the sums over all shards of what this rank owns, by part.
  std::vector<Array> finish();

 private:
  // A message: of a subtree's gradients of a bucket the parts of one owner, one after the other.
  struct Packet {
    int64_t tree = 0;  // its number in trees_
    int64_t bucket = 0;
    int owner = 0;
    Array numbers;
    Ranks::Message message = {};
  };
  // A subtree that this rank adds up.
  struct OwnTree {
    std::vector<TreeSum<Tensor>> sums;         // by parameter
    std::vector<int64_t> missing;              // by bucket: parameters whose sums are not complete
    std::vector<std::vector<Packet>> packets;  // by bucket, then by owner
  };

  ShardRange shards_of(int rank) const { return shards_of_rank(shards_, rank, ranks_.size()); }
  Array new_packet(int64_t bucket, int owner) const;
  void pack(OwnTree& tree, size_t parameter, const Array& gradient);
  void send(std::vector<Packet>& packets);
  Array sum_of(int64_t bucket);

  const std::vector<NamedParameter>& parameters_;
  const ParameterShares& shares_;
  const int64_t shards_;
  Ranks& ranks_;
  std::vector<ShardRange> trees_;  // the subtrees of all ranks, in order
  std::vector<int> rank_of_;       // that adds up the subtree
  std::vector<OwnTree> own_;       // of this step, in order
  size_t first_own_ = 0;           // its number in trees_
  std::vector<Packet> incoming_;   // by bucket, then by subtree
};

}  // namespace qkv
