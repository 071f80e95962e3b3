#pragma once

#include <functional>
#include <span>
#include <vector>

#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"

// The common part of rnn and lstm: a state [B, S] that goes through a sequence.
namespace qkv {

// The checked inputs of an op that scans: x [B, T, gates H], weight [gates H, H], first
// [B, parts H], which is zeros where there was none.
struct Scan {
  Tensor x, weight, first;
  bool reverse = false;
  Tensor padding;

  int64_t hidden() const { return weight.dim(1); }
  int64_t length() const { return x.dim(1); }
  // The states of a sequence without positions, [B, 0, parts H].
  bool is_empty() const { return length() == 0; }
  Tensor no_states() const { return zeros(x.shape().with(2, first.dim(1)), x.dtype()); }
  Tensor padding_at(int64_t t) const;  // [B, 1], or undefined
};
Scan checked_scan(const char* op, const Tensor& x, const Tensor& weight, const ScanOptions& options,
                  int64_t gates, int64_t parts);

// An op that scans: its inputs are x, weight and first.
class ScanOp : public Op, public HasAttributes, public HasKept {
 public:
  ScanOp(bool reverse, const Tensor& padding) : reverse_(reverse), padding_(padding.array()) {}
  std::vector<Attribute> attributes() const override {
    return {{"reverse", reverse_}, {"padding", padding_}};
  }
  Saves saves() const override { return Saves::kInputsAndOutput; }
  std::vector<Kept> kept() override;

 protected:
  kernels::ScanArguments arguments() const {
    return {reverse_, padding_.defined() ? &padding_ : nullptr};
  }
  Scan scan_of(const Tensor& x, const Saved& saved) const;  // whose other inputs were saved

 private:
  bool reverse_;
  Array padding_;  // [B, T], undefined: none
};

// The op that an example runs on x, weight, the state before, if there is one, and the padding.
using ScanFunction = Tensor (*)(const Tensor& x, const Tensor& weight, const ScanOptions& options);
inline auto scan_example(ScanFunction op, bool reverse, bool padded) {
  return [=](std::span<const Tensor> x) {
    const Tensor first = x.size() > 2 ? x[2] : Tensor(), padding = padded ? x[3] : Tensor();
    return op(x[0], x[1], {.first = first, .reverse = reverse, .padding = padding});
  };
}

// The states [B, T, S], where step(x_t, state) gives the next.
using ScanStep = std::function<Tensor(const Tensor& x, const Tensor& state)>;
Tensor scan_composed(const Scan& scan, const ScanStep& step);

struct ScanGradients {
  Tensor x, first;
};
// The walk back: step(t, dstate, needs_state) gives the gradient of x_t, [B, gates H], and where it
// is needed that of the state before it, given that of the state after it.
struct StepGradients {
  Tensor x, state;
};
using ScanStepBack =
    std::function<StepGradients(int64_t t, const Tensor& dstate, bool needs_state)>;
ScanGradients scan_backward_composed(const Scan& scan, const Tensor& dstates, bool needs_first,
                                     const ScanStepBack& step);

// The state [B, T, S] that each position starts from.
Tensor states_before(const Scan& scan, const Tensor& states);

// dW = sum dx_tᵀ h over all positions of all sequences, h [B, T, H] the state before each.
Tensor recurrent_weight_gradient(const Tensor& dx, const Tensor& h);

}  // namespace qkv
