#include "train/distributed/parameter_shares.h"

#include "framework/kernels/elementwise.h"

namespace qkv {
namespace {

// A bucket has about so many elements for each rank. Smaller messages would cost more in number
// than they gain in time.
constexpr int64_t kLeastElements = 32768;

// Appends to the last part where the elements go on there.
void append(std::vector<ParameterPart>& parts, const ParameterPart& more) {
  if (!parts.empty() && parts.back().parameter == more.parameter &&
      parts.back().end == more.begin) {
    parts.back().end = more.end;
  } else {
    parts.push_back(more);
  }
}

}  // namespace

ParameterShares::ParameterShares(std::span<const NamedParameter> parameters, int ranks)
    : bucket_of_(parameters.size()) {
  std::vector<int64_t> owned(static_cast<size_t>(ranks));
  int64_t before = 0;  // elements of the buckets before
  for (size_t end = parameters.size(); end > 0;) {
    size_t begin = end;
    int64_t total = 0;
    std::vector<ParameterPart> pieces;
    while (begin > 0 && total < kLeastElements * ranks) {
      --begin;
      const int64_t size = parameters[begin].tensor.size();
      total += size;
      bucket_of_[begin] = std::ssize(counts_);
      int64_t first = 0;
      for (const int64_t last : kernels::sum_pieces(size)) {
        pieces.push_back({begin, first, last});
        first = last;
      }
    }
    counts_.push_back(static_cast<int64_t>(end - begin));
    auto& of_ranks = parts_.emplace_back(static_cast<size_t>(ranks));
    before += total;
    size_t rank = 0;
    int64_t of_those_before = owned[0];  // and of this rank
    for (const ParameterPart& piece : pieces) {
      // The ranks up to this one would be farther from their share with the piece than without it.
      const auto is_full = [&] {
        return (2 * of_those_before + piece.size()) * ranks >
               2 * before * static_cast<int64_t>(rank + 1);
      };
      while (rank + 1 < of_ranks.size() && is_full()) of_those_before += owned[++rank];
      append(of_ranks[rank], piece);
      owned[rank] += piece.size();
      of_those_before += piece.size();
    }
    end = begin;
  }
}

int64_t ParameterShares::elements(int64_t bucket, int rank) const {
  int64_t sum = 0;
  for (const ParameterPart& part : parts(bucket, rank)) sum += part.size();
  return sum;
}

std::vector<ParameterPart> ParameterShares::parts(int rank) const {
  std::vector<ParameterPart> all;
  for (int64_t bucket = 0; bucket < buckets(); ++bucket) {
    all.insert(all.end(), parts(bucket, rank).begin(), parts(bucket, rank).end());
  }
  return all;
}

int64_t ParameterShares::elements(int rank) const {
  int64_t sum = 0;
  for (int64_t bucket = 0; bucket < buckets(); ++bucket) sum += elements(bucket, rank);
  return sum;
}

}  // namespace qkv
