// For each position t of a sequence, with h_0, c_0 the state before the first one:
//   a_t = x_t + W h_{t-1}                         x, a, da: [B, T, 4 H] in quarters i f g o
//   i, f, o = sigmoid of theirs, g = tanh         W: [4 H, H]
//   c_t = f c_{t-1} + i g,  h_t = o tanh(c_t)     h, c: [B, T, H], states: [h, c]
//
// From the last position to the first, with dh, dc what the state gets here and from those after:
//   dc += dh o (1 - tanh²(c_t))
//   da = [dc g i (1 - i), dc c_{t-1} f (1 - f), dc i (1 - g²), dh tanh(c_t) o (1 - o)]
//   to the position before go dh = Wᵀ da, dc = dc f
//   dx = da,  dW = sum_t da_t h_{t-1}ᵀ, summed over B, too
// A position of padding has the state of the one before it: da = 0, and what it gets goes there.
//
// Hochreiter and Schmidhuber, "Long short-term memory", 1997; the forget gate f: Gers, Schmidhuber
// and Cummins, "Learning to forget", 2000.

#include "framework/ops/support/op_kit.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "framework/ops/support/scan.h"

namespace qkv {
namespace {

Tensor hidden_of(const Tensor& state) { return slice(state, -1, 0, state.dim(-1) / 2); }
Tensor cell_of(const Tensor& state) {
  return slice(state, -1, state.dim(-1) / 2, state.dim(-1) / 2);
}

struct Gates {
  Tensor i, f, g, o;
};

Gates gates_of(const Tensor& a) {  // [..., 4 H] -> each [..., H]
  const std::vector<Tensor> quarters = split(a, -1, 4);
  return {sigmoid(quarters[0]), sigmoid(quarters[1]), tanh(quarters[2]), sigmoid(quarters[3])};
}

Tensor recurrent(const Tensor& h, const Tensor& weight) {
  return matmul(h, weight, {.transpose_b = true});
}

Tensor lstm_composed(const Scan& scan) {
  return scan_composed(scan, [&](const Tensor& x, const Tensor& state) {
    const auto [i, f, g, o] = gates_of(x + recurrent(hidden_of(state), scan.weight));
    const Tensor c = f * cell_of(state) + i * g;
    return concat({o * tanh(c), c}, -1);
  });
}

ScanGradients lstm_backward_composed(const Scan& scan, const Tensor& states, const Tensor& dstates,
                                     bool needs_first) {
  const Tensor before = states_before(scan, states);
  // For all positions at once, [B, T, H]: their states are known.
  const auto [i, f, g, o] =
      gates_of(without_padding(scan.x, scan.padding) + recurrent(hidden_of(before), scan.weight));
  const Tensor squashed = tanh(cell_of(states));
  const Tensor c_of_h = o * (1.0 - squashed * squashed);
  const Tensor i_of_c = g * (i * (1.0 - i)), f_of_c = cell_of(before) * (f * (1.0 - f)),
               g_of_c = i * (1.0 - g * g), o_of_h = squashed * (o * (1.0 - o));
  return scan_backward_composed(
      scan, dstates, needs_first,
      [&, &f = f](int64_t t, const Tensor& dstate, bool needs_state) -> StepGradients {
        const auto times = [&](const Tensor& d, const Tensor& x) {  // x at t
          return d * factor_of(d, reshape(slice(x, 1, t, 1), {x.dim(0), x.dim(2)}));
        };
        const Tensor dh = hidden_of(dstate);
        const Tensor dc = cell_of(dstate) + times(dh, c_of_h);
        const Tensor da = concat(
            {times(dc, i_of_c), times(dc, f_of_c), times(dc, g_of_c), times(dh, o_of_h)}, -1);
        if (!needs_state) return {da, Tensor()};
        return {da, concat({matmul(da, scan.weight), times(dc, f)}, -1)};
      });
}

class Lstm final : public ScanOp {
 public:
  using ScanOp::ScanOp;
  std::string_view name() const override { return "lstm"; }

  Array forward(const Inputs& x) override {
    Array states(x[0].shape().with(2, x[2].shape()[1], "lstm"), x[0].dtype());
    gates_ = Array(x[0].shape(), x[0].dtype());
    kernels::lstm(x[0], x[1], x[2], arguments(), states, gates_);
    return states;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Scan scan = scan_of(saved.input(0), saved);
    const Tensor states = saved.output();
    ScanGradients d;
    if (may_fuse({scan.x, scan.weight, scan.first, states, dy})) {
      Array dx(scan.x.shape(), states.dtype()), dfirst(scan.first.shape(), states.dtype());
      kernels::lstm_backward(scan.weight.array(), scan.first.array(), states.array(), gates_,
                             dy.array(), arguments(), dx, dfirst);
      d = {Tensor(dx), Tensor(dfirst)};
    } else {
      d = lstm_backward_composed(scan, states, dy, saved.needs(2));
    }
    Tensor dweight;
    if (saved.needs(1)) {
      dweight = recurrent_weight_gradient(d.x, hidden_of(states_before(scan, states)));
    }
    return {d.x, dweight, d.first};
  }

  std::vector<Kept> kept() override {
    std::vector<Kept> all = ScanOp::kept();
    all.insert(all.begin(), {"gates", &gates_});
    return all;
  }

 private:
  Array gates_;  // [B, T, 4 H]
};

}  // namespace

Tensor lstm(const Tensor& x, const Tensor& weight, const ScanOptions& options) {
  const Scan scan = checked_scan("lstm", x, weight, options, /*gates=*/4, /*parts=*/2);
  if (scan.is_empty()) return scan.no_states();
  if (composed_only()) return lstm_composed(scan);
  return apply<Lstm>({scan.x, scan.weight, scan.first}, scan.reverse, scan.padding);
}

OpExamples lstm_examples() {
  const auto f = [](bool reverse, bool padded) { return scan_example(lstm, reverse, padded); };
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  const ExampleInput weight = normal({8, 2}), number = normal({3, 3, 4}), factor = normal({4, 1}),
                     start = normal({3, 2}), padding = {Fill::kMask, {3, 3}};
  return {
      .op = "lstm",
      .examples = {{"one number", {normal({2, 2, 4}), factor, normal({2, 2})}, f(false, false)},
                   {"from zeros", {normal({2, 2, 8}), weight}, f(false, false)},
                   {"from a state", {normal({2, 2, 8}), weight, normal({2, 4})}, f(false, false)},
                   {"reverse", {normal({2, 2, 8}), weight, normal({2, 4})}, f(true, false)},
                   {"padding", {number, factor, start, padding}, f(false, true)},
                   {"reverse, padding", {number, factor, start, padding}, f(true, true)},
                   {"one position", {normal({2, 1, 8}), weight, normal({2, 4})}, f(false, false)}},
      .errors =
          {{"the weight of an rnn",
            [] {
              lstm(zeros({2, 3, 4}), zeros({4, 4}));
            },
            "lstm: x must be [B, T, 4 H] and weight [4 H, H]: x f32[2, 3, 4], weight f32[4, 4]"},
           {"a state without a cell",
            [] {
              lstm(zeros({2, 3, 8}), zeros({8, 2}), {.first = zeros({2, 2})});
            },
            "lstm: first must be [2, 4]: x f32[2, 3, 8], weight f32[8, 2], first f32[2, 2]"},
           {"padding of numbers",
            [] {
              lstm(zeros({2, 3, 8}), zeros({8, 2}), {.padding = zeros({2, 3})});
            },
            "lstm: needs bool: padding f32[2, 3]"}},
  };
}

}  // namespace qkv
