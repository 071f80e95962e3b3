#include "apps/cluster/gradient_exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "framework/graph/middleware.h"
#include "framework/kernels/kernels.h"

namespace qkv {
namespace {

void collect(ShardRange tree, ShardRange range, std::vector<ShardRange>& found) {
  if (tree.end <= range.begin || range.end <= tree.begin) return;
  if (range.begin <= tree.begin && tree.end <= range.end) {
    found.push_back(tree);
    return;
  }
  collect(tree.left(), range, found);
  collect(tree.right(), range, found);
}

// A subtree that one rank adds up.
struct Subtree {
  ShardRange shards;
  int rank = 0;
  double loss = 0;
  std::vector<Tensor> gradients;  // where this rank adds it up
  Array numbers;                  // of the gradients those that this rank owns
};

// The loss, and the numbers that this rank owns, of a tree with known subtrees.
std::pair<double, Array> sum_of(ShardRange tree, const std::vector<Subtree>& known) {
  const auto found = std::ranges::find(known, tree, &Subtree::shards);
  if (found != known.end()) return {found->loss, found->numbers};
  auto [loss, sum] = sum_of(tree.left(), known);
  const auto [more_loss, more] = sum_of(tree.right(), known);
  kernels::binary(kernels::Binary::add, sum, more, sum);
  return {loss + more_loss, sum};
}

// Elements of a parameter, which belong to a rank's own numbers from a place on.
struct Slice {
  size_t parameter;
  int64_t begin, count, place;
};

// The slices that a rank owns: the numbers of all parameters, one after the other, are shared out
// evenly.
std::vector<Slice> slices_of_rank(const std::vector<NamedParameter>& parameters, int rank,
                                  int ranks) {
  const ShardRange owned = part_of(parameter_count(parameters), rank, ranks);
  std::vector<Slice> slices;
  int64_t first = 0;  // number of the parameter
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t size = parameters[i].tensor.size();
    const int64_t begin = std::max(owned.begin, first), end = std::min(owned.end, first + size);
    if (begin < end) slices.push_back({i, begin - first, end - begin, begin - owned.begin});
    first += size;
  }
  return slices;
}

std::span<const std::byte> bytes_in(const Array& array, int64_t begin, int64_t count) {
  const auto size = static_cast<int64_t>(dtype_bytes(array.dtype()));
  return std::span(static_cast<const std::byte*>(array.raw()), array.bytes())
      .subspan(static_cast<size_t>(begin * size), static_cast<size_t>(count * size));
}

std::span<std::byte> bytes_to(Array& array, int64_t begin, int64_t count) {
  const auto size = static_cast<int64_t>(dtype_bytes(array.dtype()));
  return std::span(static_cast<std::byte*>(array.mutable_raw()), array.bytes())
      .subspan(static_cast<size_t>(begin * size), static_cast<size_t>(count * size));
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  std::memcpy(to.data(), from.data(), to.size());
}

}  // namespace

std::vector<ShardRange> subtrees(int64_t shards, ShardRange range) {
  std::vector<ShardRange> found;
  collect({0, shards}, range, found);
  return found;
}

SharedGradients differentiate_together(const ShardedBatch& batch, bool stop, Ranks& ranks) {
  const std::vector<NamedParameter>& parameters = batch.parameters();
  const int self = ranks.rank(), size = ranks.size();
  const int64_t owned = part_of(parameter_count(parameters), self, size).size();
  std::vector<std::vector<Slice>> slices;  // by the rank that owns them
  std::vector<Subtree> trees;
  for (int rank = 0; rank < size; ++rank) {
    slices.push_back(slices_of_rank(parameters, rank, size));
    const ShardRange shards = part_of(batch.shards(), rank, size);
    for (const ShardRange tree : subtrees(batch.shards(), shards)) {
      trees.push_back({tree, rank, 0, {}, Array({owned}, parameters[0].tensor.dtype())});
    }
  }
  const std::vector<Slice>& own = slices[self];

  for (Subtree& tree : trees) {
    if (tree.rank != self) continue;
    auto [loss, gradients] = batch.differentiate(tree.shards);
    tree.loss = loss;
    tree.gradients = std::move(gradients);
    for (const auto& [i, begin, count, place] : own) {
      copy(bytes_in(tree.gradients[i].array(), begin, count), bytes_to(tree.numbers, place, count));
    }
  }

  const ObservedSection section("gradients of other ranks");
  std::vector<char> stops(static_cast<size_t>(size), stop);
  std::vector<Ranks::Outgoing> out;
  std::vector<Ranks::Incoming> in;
  for (int other = 0; other < size; ++other) {
    if (other == self) continue;
    out.push_back({other, bytes_of(stops[self])});
    in.push_back({other, bytes_of(stops[other])});
    for (Subtree& tree : trees) {
      if (tree.rank == self) {
        out.push_back({other, bytes_of(tree.loss)});
        for (const auto& [i, begin, count, place] : slices[other]) {
          out.push_back({other, bytes_in(tree.gradients[i].array(), begin, count)});
        }
      } else if (tree.rank == other) {
        in.push_back({other, bytes_of(tree.loss)});
        for (const auto& [i, begin, count, place] : own) {
          in.push_back({other, bytes_to(tree.numbers, place, count)});
        }
      }
    }
  }
  ranks.exchange(out, in);
  for (Subtree& tree : trees) tree.gradients.clear();

  const auto [loss, sum] = sum_of({0, batch.shards()}, trees);
  trees.clear();
  std::vector<Array> whole;
  for (const NamedParameter& p : parameters) {
    whole.emplace_back(p.tensor.shape(), p.tensor.dtype());
  }
  out.clear();
  in.clear();
  for (const auto& [i, begin, count, place] : own) {
    copy(bytes_in(sum, place, count), bytes_to(whole[i], begin, count));
    for (int other = 0; other < size; ++other) {
      if (other != self) out.push_back({other, bytes_in(sum, place, count)});
    }
  }
  for (int other = 0; other < size; ++other) {
    if (other == self) continue;
    for (const auto& [i, begin, count, place] : slices[other]) {
      in.push_back({other, bytes_to(whole[i], begin, count)});
    }
  }
  ranks.exchange(out, in);
  return {.whole = {.loss = loss, .gradients = {whole.begin(), whole.end()}},
          .stop = std::ranges::any_of(stops, [](char asked) { return asked != 0; })};
}

}  // namespace qkv
