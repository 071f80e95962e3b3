#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/nn/module.h"

namespace qkv {

// Elements of a parameter that belong to one rank: its owner adds up their gradients and updates
// them.
struct ParameterPart {
  size_t parameter = 0;
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// Shares out the elements of all parameters among ranks, so that each owns about as many. A part is
// made of whole pieces (kernels::sum_pieces), of which the norm of the gradient is the sum.
//
// A bucket is some parameters whose gradients are complete at about the same time: what of it a
// rank owns travels as one message. The backward walk comes to the last parameters first.
class ParameterShares {
 public:
  ParameterShares(std::span<const NamedParameter> parameters, int ranks);

  int64_t buckets() const { return static_cast<int64_t>(parts_.size()); }
  int64_t bucket_of(size_t parameter) const { return bucket_of_[parameter]; }
  // The parameters of a bucket.
  int64_t parameters_in(int64_t bucket) const { return counts_[static_cast<size_t>(bucket)]; }
  // What a rank owns of a bucket, and how many elements that are.
  const std::vector<ParameterPart>& parts(int64_t bucket, int rank) const {
    return parts_[static_cast<size_t>(bucket)][static_cast<size_t>(rank)];
  }
  int64_t elements(int64_t bucket, int rank) const;
  // The same of all buckets, in their order.
  std::vector<ParameterPart> parts(int rank) const;
  int64_t elements(int rank) const;

 private:
  std::vector<int64_t> bucket_of_;
  std::vector<int64_t> counts_;
  std::vector<std::vector<std::vector<ParameterPart>>> parts_;  // by bucket, then by rank
};

}  // namespace qkv
