#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "framework/core/array.h"
#include "framework/kernels/attention/fused_attention.h"
#include "framework/kernels/attention/head_rows.h"
#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/dropout_words.h"
#include "framework/kernels/elementwise/vector.h"

// Tiles of scores, and their mask, bias and dropout.
namespace qkv::kernels {

// Scores are made for a vector of queries and kKeys keys at a time, as [keys, queries]: softmax
// treats the queries of a vector at once, and sums over keys are sums of vectors.
constexpr int64_t kKeys = 256;

template <class T>
constexpr T kHidden = -kInfinityOf<T>;

struct AttentionSizes {
  int64_t sequences, heads, queries, keys, width;  // B, H, Tq, Tk, D
  int64_t queries_a_key;                           // heads of queries that share one of keys
  KeyRule rule;

  AttentionSizes(const Array& query, const Array& key, const KeyRule& visible)
      : sequences(query.shape()[0]),
        heads(query.shape()[2]),
        queries(query.shape()[1]),
        keys(key.shape()[1]),
        width(query.shape()[3]),
        queries_a_key(heads / std::max<int64_t>(1, key.shape()[2])),
        rule(visible) {}
};

// Queries query … query + rows - 1 and keys key … key + count - 1.
struct Tile {
  int64_t query, rows, key, count;
  bool is_first;  // of these queries
};

// Calls f with every tile in which a query sees a key, in the order of the keys.
template <class T, class F>
void for_each_tile(const AttentionSizes& n, F f) {
  constexpr int64_t kQueries = kVectorLength<T>;
  int64_t begin = 0;  // queries before it see none of the keys to come
  for (int64_t j = 0; j < n.keys; j += kKeys) {
    const int64_t end = std::min(j + kKeys, n.keys);
    for (int64_t i = begin; i < n.queries; i += kQueries) {
      const int64_t rows = std::min(kQueries, n.queries - i);
      const int64_t first = n.rule.of(i, n.keys).first, last = n.rule.of(i + rows - 1, n.keys).last;
      if (first >= end) break;  // as do all queries after these
      if (last <= j) {
        begin = i + kQueries;
        continue;
      }
      const int64_t from = std::max(first, j), to = std::min(last, end);
      if (from < to) f(Tile{i, rows, from, to - from, from == first});
    }
  }
}

// scores = -inf where the rule hides a key from a query.
template <class T>
void hide_by_rule(const AttentionSizes& n, const Tile& tile, const Scratch<T>& scores) {
  const auto seen_by = [&](int64_t row) {  // in keys of the tile
    const KeyRange seen = n.rule.of(tile.query + row, n.keys);
    return KeyRange{seen.first - tile.key, seen.last - tile.key};
  };
  // Keys that all the queries see stay as they are.
  const int64_t from = std::clamp<int64_t>(seen_by(tile.rows - 1).first, 0, tile.count);
  const int64_t to = std::clamp(seen_by(0).last, from, tile.count);
  if (from == 0 && to == tile.count) return;
  Vector<T> first, last;
  for (int64_t q = 0; q < kVectorLength<T>; ++q) {
    const KeyRange seen = seen_by(q);
    first[q] = static_cast<T>(seen.first);
    last[q] = static_cast<T>(seen.last);
  }
  const auto hide = [&](int64_t k) {
    const Vector<T> at = Vector<T>{} + static_cast<T>(k);
    Vector<T>& row = vector_at(scores[k]);
    row = (at < first) | (at >= last) ? Vector<T>{} + kHidden<T> : row;
  };
  for (int64_t k = 0; k < from; ++k) hide(k);
  for (int64_t k = to; k < tile.count; ++k) hide(k);
}

// scores = -inf at padding, which has one element for each key.
template <class T>
void hide_padding(const uint8_t* padding, const Tile& tile, const Scratch<T>& scores) {
  if (!padding) return;
  for (int64_t k = 0; k < tile.count; ++k) {
    if (padding[tile.key + k] != 0) std::fill_n(scores[k], kVectorLength<T>, kHidden<T>);
  }
}

// One head's part of a bias: query i and key j take data[i query_step + j key_step].
template <class T>
struct BiasOfHead {
  T* data = nullptr;  // nullptr: there is none
  int64_t query_step = 0, key_step = 0;

  // f(score, bias) for each of the tile's scores.
  template <class F>
  void for_each(const Tile& tile, const Scratch<std::remove_const_t<T>>& scores, F f) const {
    if (!data) return;
    for (int64_t k = 0; k < tile.count; ++k) {
      auto* row = scores[k];
      T* from = data + tile.query * query_step + (tile.key + k) * key_step;
      for (int64_t q = 0; q < tile.rows; ++q) f(row[q], from[q * query_step]);
    }
  }
};

// How far apart the elements of an array that broadcasts to [B, H, Tq, Tk] are along B, H, Tq and
// Tk: 0 where one stands for all.
inline std::array<int64_t, 4> broadcast_steps(const Shape& shape) {
  std::array<int64_t, 4> steps{};
  int64_t step = 1;
  size_t to = steps.size();
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    --to;
    if (shape[axis] != 1) steps[to] = step;
    step *= shape[axis];
  }
  return steps;
}

// A relative bias is [H, Tq + Tk - 1], or [B, H, Tq + Tk - 1].
template <class T>
BiasOfHead<T> bias_of_head(T* data, const Shape& shape, bool is_relative, const AttentionSizes& n,
                           int64_t b, int64_t h) {
  if (is_relative) {
    const int64_t row = (shape.rank() == 3 ? b * n.heads : 0) + h;
    return {data + row * shape[-1] + n.keys - 1, 1, -1};
  }
  const auto [sequence, head, query, key] = broadcast_steps(shape);
  return {data + b * sequence + h * head, query, key};
}

// Which weights of a head dropout keeps.
template <class T>
class DropoutOfHead {
 public:
  DropoutOfHead() = default;  // all
  DropoutOfHead(const AttentionArguments& arguments, const DropoutWords& words,
                const AttentionSizes& n, int64_t b, int64_t h)
      : words_(arguments.dropout > 0 ? &words : nullptr),
        scale_(static_cast<T>(1 / (1 - ScalarOf<T>(arguments.dropout)))),
        first_((b * n.heads + h) * n.queries * n.keys),
        keys_(n.keys) {}

  bool is_active() const { return words_ != nullptr; }

  // factors[k, q] = 1 / (1 - p) where a weight is kept, else 0. Words stand in the order of the
  // keys: rows[q, k] is 1 or 0 on the way.
  void draw(const Tile& tile, const Scratch<T>& rows, const Scratch<T>& factors) const {
    constexpr int64_t kGroup = DropoutWords::kGroup;
    uint32_t words[kGroup];
    int64_t drawn = -1;  // the group that is in `words`
    for (int64_t q = 0; q < tile.rows; ++q) {
      const int64_t row = first_ + (tile.query + q) * keys_ + tile.key;
      T* kept = rows[q];
      for (int64_t k = 0; k < tile.count;) {
        const int64_t group = (row + k) / kGroup;
        if (group != drawn) words_->draw(static_cast<uint64_t>(group), words);
        drawn = group;
        const int64_t end = std::min(tile.count, (group + 1) * kGroup - row);
        const uint32_t* word = words + (row + k) % kGroup;
#pragma omp simd
        for (int64_t i = 0; i < end - k; ++i) {
          kept[k + i] = word[i] >= words_->threshold() ? T(1) : T(0);
        }
        k = end;
      }
    }
    gather_columns<T>({rows.data(), rows.stride()}, 0, tile.rows, tile.count, scale_, factors);
  }

 private:
  const DropoutWords* words_ = nullptr;
  T scale_ = 1;
  int64_t first_ = 0, keys_ = 0;
};

// sum + a b; with kZeros a product is 0 if a or b is, even if the other one is not finite.
template <bool kZeros, class V>
V plus_times(const V& sum, const V& a, const V& b) {
  const V more = sum + a * b;  // one rounding, whatever kZeros is
  if constexpr (!kZeros) return more;
  return (a == V{}) | (b == V{}) ? sum : more;
}

// x *= factors
template <bool kZeros, class T>
void multiply_tile(const Tile& tile, const Scratch<T>& x, const Scratch<T>& factors) {
  for (int64_t k = 0; k < tile.count; ++k) {
    vector_at(x[k]) = plus_times<kZeros>(Vector<T>{}, vector_at(x[k]), vector_at(factors[k]));
  }
}

// Computes one head's scores from its queries and keys.
template <class T>
struct ScoresOfHead {
  T scale;
  const uint8_t* padding;
  BiasOfHead<const T> bias;
  DropoutOfHead<T> dropout;

  // With kZeros, a bias of -inf hides a key, even if its score is NaN.
  template <bool kZeros>
  void finish(const AttentionSizes& n, const Tile& tile, const Scratch<T>& scores) const {
    bias.for_each(tile, scores, [](T& score, const T& term) {
      score = kZeros && term == kHidden<T> ? term : score + term;
    });
    hide_by_rule(n, tile, scores);
    hide_padding(padding, tile, scores);
  }
};

template <class T>
ScoresOfHead<T> scores_of_head(const AttentionArguments& a, const DropoutWords& words,
                               const AttentionSizes& n, int64_t b, int64_t h) {
  return {static_cast<T>(a.scale), a.padding ? mask_bytes(*a.padding) + b * n.keys : nullptr,
          a.bias ? bias_of_head(a.bias->data<T>(), a.bias->shape(), a.bias_is_relative, n, b, h)
                 : BiasOfHead<const T>(),
          DropoutOfHead<T>(a, words, n, b, h)};
}

}  // namespace qkv::kernels
