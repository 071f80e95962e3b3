#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/initializer.h"
#include "framework/nn/layers.h"
#include "framework/nn/module.h"
#include "framework/ops/ops.h"

// The common parts of layers that mix the tokens of a sequence, and the layers whose scores do not
// depend on the tokens.
namespace qkv {

// Throws Error where x is not [B, T, C], and where the mask has a bias of scores, or without
// `can_window` a window: only attention heeds these.
void check_mixing(std::string_view layer, const Tensor& x, const AttentionMask& mask,
                  bool can_window);

// The mask's padding of the last `length` tokens, [B, length]; undefined: none.
Tensor padding_of_last(const AttentionMask& mask, int64_t length);

// y_i = sum_j w_ij x_j with w_i = softmax(scores_i) over the positions that the mask lets i see, or
// zeros where it sees none. Notes "weights" [Tq, Tk], with padding [B, Tq, Tk]. With a cache under
// a causal mask, x continues the tokens read before; the cache keeps them all.
//   x [B, Tq, C], scores(first, Tq, Tk) [Tq, Tk] of queries first, first + 1 … -> [B, Tq, C]
using ScoresOf = absl::FunctionRef<Tensor(int64_t first, int64_t queries, int64_t keys)>;
Tensor mix_by_scores(const Tensor& x, const AttentionMask& mask, const ForwardContext& context,
                     ScoresOf scores);

// Attention whose weights do not depend on the tokens: one trained row of scores for each place.
//   y_i = sum_j w_ij x_j,  w_i = softmax(scores_i) over the positions seen
struct LearnedMixing {
  Tensor scores;  // [T_max, T_max], start at 0: UniformMixing
  Dropout output_dropout;

  LearnedMixing() = default;
  LearnedMixing(Initializer& init, int64_t max_length);

  // x [B, T, C] -> [B, T, C], T at most T_max, as mix_by_scores has it.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

// The mean of the positions seen, with nothing to learn.
struct UniformMixing {
  Dropout output_dropout;

  // x [B, T, C] -> [B, T, C], as mix_by_scores has it.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& /*v*/) {}
};

}  // namespace qkv
