#include "framework/nn/mixers/recurrence.h"

#include <cmath>

#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/nn/mixers/mixing.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

double deviation_of(int64_t hidden) { return 1.0 / std::sqrt(3.0 * static_cast<double>(hidden)); }

int64_t rows_of(Cell cell, int64_t hidden) { return cell == Cell::kLstm ? 4 * hidden : hidden; }

}  // namespace

RecurrentScan::RecurrentScan(Initializer& init, int64_t width, int64_t hidden, Cell cell_kind,
                             bool with_bias, bool in_reverse)
    : input(Linear(init, width, rows_of(cell_kind, hidden), with_bias, deviation_of(hidden))),
      state_weight(init.normal({rows_of(cell_kind, hidden), hidden}, deviation_of(hidden))),
      cell(cell_kind),
      reverse(in_reverse) {
  if (cell == Cell::kLstm && with_bias && init.makes_numbers()) {
    const auto part = [&](int64_t parts, double value) {
      return full({parts * hidden}, value, init.dtype());
    };
    input.bias = parameter(concat({part(1, 0.0), part(1, 1.0), part(2, 0.0)}, 0).array());
  }
}

Tensor RecurrentScan::operator()(const Tensor& x, const Tensor& first,
                                 const Tensor& padding) const {
  const ScanOptions options = {.first = first, .reverse = reverse, .padding = padding};
  const Tensor projected = input(x);  // [B, T, H] or [B, T, 4 H]
  Tensor states = cell == Cell::kLstm ? lstm(projected, state_weight, options)
                                      : rnn(projected, state_weight, options);
  if (step_by_step()) {
    note("hidden", slice(states, 2, 0, hidden()));
    if (cell == Cell::kLstm) note("cell", slice(states, 2, hidden(), hidden()));
  }
  return states;
}

void RecurrentScan::visit(Visitor& v) {
  v.child(input);
  v.parameter("state.weight", state_weight);
}

Recurrence::Recurrence(Initializer& init, int64_t width, Cell cell, bool both_directions,
                       bool with_bias, double output_deviation) {
  const int64_t hidden = both_directions ? (width + 1) / 2 : width;
  forward = RecurrentScan(init, width, hidden, cell, with_bias, /*in_reverse=*/false);
  if (both_directions) {
    backward = RecurrentScan(init, width, hidden, cell, with_bias, /*in_reverse=*/true);
  }
  output = Linear(init, both_directions ? 2 * hidden : hidden, width, with_bias, output_deviation);
}

Tensor Recurrence::operator()(const Tensor& x, const AttentionMask& mask,
                              ForwardContext& context) const {
  check_mixing("recurrence", x, mask, /*can_window=*/false);
  if (mask.causal == backward.defined()) {
    fail(mask.causal ? "recurrence: runs in both directions, but the mask is causal"
                     : "recurrence: runs in one direction, but the mask is not causal");
  }
  const Tensor padding = padding_of_last(mask, x.dim(1));
  std::vector<Tensor>* last = nullptr;  // of the tokens that were read
  if (context.cache && mask.causal) {
    last = &context.cache->read_on(Scope::current(), context.first_position, x.dim(1));
  }
  const Tensor first = last && !last->empty() ? last->front() : Tensor();  // [B, S]
  const Tensor read = without_padding(x, padding);
  const Tensor states = forward(read, first, padding);  // [B, T, S]
  if (last && x.dim(1) > 0) {
    *last = {reshape(slice(states, 1, x.dim(1) - 1, 1), {x.dim(0), states.dim(2)})};
  }
  Tensor h = slice(states, 2, 0, forward.hidden());  // [B, T, H]
  if (backward.defined()) {
    const Tensor after = backward(read, Tensor(), padding);
    h = concat({h, slice(after, 2, 0, backward.hidden())}, 2);  // [B, T, 2 H]
  }
  return output_dropout(output(h), context);
}

void Recurrence::visit(Visitor& v) {
  v.child(forward);
  v.child(backward);
  v.child(output);
}

}  // namespace qkv
