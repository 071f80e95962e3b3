// For each position t of a sequence, with h_0 the state before the first one:
//   h_t = tanh(a_t),  a_t = x_t + W h_{t-1}        x, h, da: [B, T, H], W: [H, H], h_0: [B, H]
//
// From the last position to the first, with dy_t the gradient of h_t where it is used elsewhere:
//   da_t = (1 - h_t²) (dy_t + Wᵀ da_{t+1})
//   dx = da,  dW = sum_t da_t h_{t-1}ᵀ, summed over B, too,  dh_0 = Wᵀ da_1
// A position of padding has h_t = h_{t-1}: da_t = 0, and what it gets goes to h_{t-1} as it is.
//
// Elman, "Finding structure in time", 1990.

#include "framework/ops/support/op_kit.h"
#include "framework/ops/support/scan.h"

namespace qkv {
namespace {

Tensor rnn_composed(const Scan& scan) {
  return scan_composed(scan, [&](const Tensor& x, const Tensor& h) {
    return tanh(x + matmul(h, scan.weight, {.transpose_b = true}));
  });
}

ScanGradients rnn_backward_composed(const Scan& scan, const Tensor& h, const Tensor& dh,
                                    bool needs_first) {
  const Tensor slope = 1.0 - h * h;  // [B, T, H]
  return scan_backward_composed(
      scan, dh, needs_first, [&](int64_t t, const Tensor& dstate, bool needs_state) {
        const Tensor slope_here = reshape(slice(slope, 1, t, 1), dstate.shape().dims());
        const Tensor da = factor_of(dstate, slope_here) * dstate;
        return StepGradients{da, needs_state ? matmul(da, scan.weight) : Tensor()};
      });
}

class Rnn final : public ScanOp {
 public:
  using ScanOp::ScanOp;
  std::string_view name() const override { return "rnn"; }

  Array forward(const Inputs& x) override {
    Array states(x[0].shape(), x[0].dtype());
    kernels::rnn(x[0], x[1], x[2], arguments(), states);
    return states;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor h = saved.output();
    const Scan scan = scan_of(h, saved);  // h for x, which is not read
    ScanGradients d;
    if (may_fuse({scan.weight, h, dy})) {
      Array dx(h.shape(), h.dtype()), dfirst(scan.first.shape(), h.dtype());
      kernels::rnn_backward(scan.weight.array(), h.array(), dy.array(), arguments(), dx, dfirst);
      d = {Tensor(dx), Tensor(dfirst)};
    } else {
      d = rnn_backward_composed(scan, h, dy, saved.needs(2));
    }
    Tensor dweight;
    if (saved.needs(1)) dweight = recurrent_weight_gradient(d.x, states_before(scan, h));
    return {d.x, dweight, d.first};
  }
};

}  // namespace

Tensor rnn(const Tensor& x, const Tensor& weight, const ScanOptions& options) {
  const Scan scan = checked_scan("rnn", x, weight, options, /*gates=*/1, /*parts=*/1);
  if (scan.is_empty()) return scan.no_states();
  if (composed_only()) return rnn_composed(scan);
  return apply<Rnn>({scan.x, scan.weight, scan.first}, scan.reverse, scan.padding);
}

OpExamples rnn_examples() {
  const auto f = [](bool reverse, bool padded) { return scan_example(rnn, reverse, padded); };
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  const ExampleInput weight = normal({2, 2}), x = normal({3, 3, 2}), first = normal({3, 2}),
                     padding = {Fill::kMask, {3, 3}};
  return {
      .op = "rnn",
      .examples = {{"from zeros", {normal({2, 2, 2}), weight}, f(false, false)},
                   {"from a state", {normal({2, 3, 2}), weight, normal({2, 2})}, f(false, false)},
                   {"reverse", {normal({2, 3, 2}), weight, normal({2, 2})}, f(true, false)},
                   {"padding", {x, weight, first, padding}, f(false, true)},
                   {"reverse, padding", {x, weight, first, padding}, f(true, true)},
                   {"one position", {normal({2, 1, 2}), weight, normal({2, 2})}, f(false, false)}},
      .errors =
          {{"a weight of another size",
            [] {
              rnn(zeros({2, 3, 4}), zeros({4, 5}));
            },
            "rnn: x must be [B, T, H] and weight [H, H]: x f32[2, 3, 4], weight f32[4, 5]"},
           {"a state of another size",
            [] {
              rnn(zeros({2, 3, 4}), zeros({4, 4}), {.first = zeros({3, 4})});
            },
            "rnn: first must be [2, 4]: x f32[2, 3, 4], weight f32[4, 4], first f32[3, 4]"},
           {"padding of another length",
            [] {
              rnn(zeros({2, 3, 4}), zeros({4, 4}), {.padding = zeros({2, 4}, DType::boolean)});
            },
            "rnn: padding must be [2, 3]: x f32[2, 3, 4], weight f32[4, 4], padding bool[2, 4]"},
           {"dtypes that differ",
            [] {
              rnn(zeros({2, 3, 4}), zeros({4, 4}, DType::f64));
            },
            "rnn: dtypes differ: x f32[2, 3, 4], weight f64[4, 4]; cast one of them"}},
  };
}

}  // namespace qkv
