#pragma once

#include "framework/nn/forward_context.h"
#include "framework/nn/initializer.h"
#include "framework/nn/layer_options.h"
#include "framework/nn/layers.h"
#include "framework/ops/ops.h"

namespace qkv {

// One direction of a recurrence: a state of H numbers (lstm: 2 H) goes from position to position.
// PyTorch's weight_ih_l0 is input.weight, weight_hh_l0 state.weight, and the sum of its two biases
// input.bias; its gates are in the same order.
struct RecurrentScan {
  Child<"input", Linear> input;  // C -> H, lstm: 4 H; of all positions in one product
  Tensor state_weight;           // [H, H], lstm: [4 H, H]; products with it are f32 also in bf16
  Cell cell = Cell::kLstm;
  bool reverse = false;

  RecurrentScan() = default;
  // The weights have PyTorch's standard deviation, 1 / sqrt(3 H); the bias is zero, but one for the
  // forget gate of an lstm, so that it initially remembers (Jozefowicz et al. 2015).
  RecurrentScan(Initializer& init, int64_t width, int64_t hidden, Cell cell_kind, bool with_bias,
                bool in_reverse);

  bool defined() const { return state_weight.defined(); }
  int64_t hidden() const { return state_weight.dim(1); }

  // The states of all positions, [B, T, H] or [B, T, 2 H]: h, and lstm's c after it. They begin
  // with `first`, undefined: zeros. Notes "hidden", and lstm "cell", [B, T, H].
  Tensor operator()(const Tensor& x, const Tensor& first, const Tensor& padding) const;
  void visit(Visitor& v);
};

// Each position gets a state that summarizes it and the positions before it; under a mask that is
// not causal also a second state, which runs from the last position to the first. Padding does not
// change a state. A recurrence is made for one of the two masks.
//
// With one direction H is C, with two each has H = ceil(C / 2), for about the same number of
// parameters: an lstm has 9 C² with one and 7 C² with two, an rnn 3 C² and 2.5 C² (and biases).
struct Recurrence {
  Child<"forward", RecurrentScan> forward;
  Child<"backward", RecurrentScan> backward;  // undefined: in one direction only
  Child<"output", Linear> output;             // H or 2 H -> C
  Dropout output_dropout;

  Recurrence() = default;
  // The output projection is normal with standard deviation `output_deviation`.
  Recurrence(Initializer& init, int64_t width, Cell cell, bool both_directions, bool with_bias,
             double output_deviation);

  // x [B, T, C] -> [B, T, C]. With a cache, x continues the tokens that were read, whose state is
  // in the cache; with two directions the cache is not used.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
