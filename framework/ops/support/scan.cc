#include "framework/ops/support/scan.h"

#include <string>

#include "framework/ops/support/op_kit.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

Tensor at(const Tensor& x, int64_t t) {  // [B, T, N] -> [B, N]
  return reshape(slice(x, 1, t, 1), {x.dim(0), x.dim(2)});
}

Tensor steps_as_rows(const Tensor& x) { return reshape(x, {x.dim(0) * x.dim(1), x.dim(2)}); }

}  // namespace

Tensor Scan::padding_at(int64_t t) const {
  return padding.defined() ? slice(padding, 1, t, 1) : Tensor();
}

Scan checked_scan(const char* op, const Tensor& x, const Tensor& weight, const ScanOptions& options,
                  int64_t gates, int64_t parts) {
  check_floating(op, {"x", x});
  check_same_dtype(op, {{"x", x}, {"weight", weight}});
  const std::string all = describe({{"x", x}, {"weight", weight}});
  const std::string times = gates == 1 ? "" : absl::StrCat(gates, " ");
  if (x.rank() != 3 || weight.rank() != 2 || weight.dim(0) / gates != weight.dim(1) ||
      weight.dim(0) % gates != 0 || x.dim(2) != weight.dim(0)) {
    fail(absl::StrCat(op, ": x must be [B, T, ", times, "H] and weight [", times, "H, H]: ", all));
  }
  const Shape state({x.dim(0), parts * weight.dim(1)}, op);
  Shape({x.dim(0), x.dim(1), parts * weight.dim(1)}, op);
  Tensor first = options.first;
  // Without positions the state is empty too, so that nothing has to be as large as a state.
  if (!first.defined()) first = zeros(x.dim(1) > 0 ? state : state.with(0, 0), x.dtype());
  check_same_dtype(op, {{"x", x}, {"first", first}});
  if (options.first.defined() && first.shape() != state) {
    fail(absl::StrCat(op, ": first must be ", state.to_string(), ": ", all, ", ",
                      describe({{"first", first}})));
  }
  if (options.padding.defined()) {
    check_dtype(op, {"padding", options.padding}, DType::boolean);
    if (options.padding.shape() != Shape{x.dim(0), x.dim(1)}) {
      fail(absl::StrCat(op, ": padding must be [", x.dim(0), ", ", x.dim(1), "]: ", all, ", ",
                        describe({{"padding", options.padding}})));
    }
  }
  return {x, weight, first, options.reverse, options.padding};
}

std::vector<Kept> ScanOp::kept() {
  if (!padding_.defined()) return {};
  return {{"padding", &padding_}};
}

Scan ScanOp::scan_of(const Tensor& x, const Saved& saved) const {
  return {x, saved.input(1), saved.input(2), reverse_,
          padding_.defined() ? Tensor(padding_) : Tensor()};
}

Tensor scan_composed(const Scan& scan, const ScanStep& step) {
  std::vector<Tensor> states(static_cast<size_t>(scan.length()));
  const Tensor x = without_padding(scan.x, scan.padding);
  Tensor state = scan.first;
  for (int64_t i = 0; i < scan.length(); ++i) {
    const int64_t t = scan.reverse ? scan.length() - 1 - i : i;
    const Tensor next = step(at(x, t), state), padding = scan.padding_at(t);
    state = padding.defined() ? where(padding, state, next) : next;
    states[static_cast<size_t>(t)] = state;
  }
  return stack(states, 1);
}

ScanGradients scan_backward_composed(const Scan& scan, const Tensor& dstates, bool needs_first,
                                     const ScanStepBack& step) {
  std::vector<Tensor> dx(static_cast<size_t>(scan.length()));
  Tensor carried;  // from the positions after
  for (int64_t i = scan.length() - 1; i >= 0; --i) {
    const int64_t t = scan.reverse ? scan.length() - 1 - i : i;
    const Tensor dhere = at(dstates, t), dstate = carried.defined() ? dhere + carried : dhere;
    const Tensor padding = scan.padding_at(t);
    const bool needs_state = i > 0 || needs_first;
    const auto [dx_t, dbefore] = step(t, dstate, needs_state);
    dx[static_cast<size_t>(t)] = padding.defined() ? masked_fill(dx_t, padding, 0.0) : dx_t;
    carried = padding.defined() && needs_state ? where(padding, dstate, dbefore) : dbefore;
  }
  return {stack(dx, 1), carried};
}

Tensor states_before(const Scan& scan, const Tensor& states) {
  const int64_t length = states.dim(1);
  const Tensor first = reshape(scan.first, {states.dim(0), 1, states.dim(2)});
  const Tensor others = slice(states, 1, scan.reverse ? 1 : 0, length - 1);
  return scan.reverse ? concat({others, first}, 1) : concat({first, others}, 1);
}

Tensor recurrent_weight_gradient(const Tensor& dx, const Tensor& h) {
  return masked_matmul(steps_as_rows(dx), steps_as_rows(h), {.transpose_a = true});
}

}  // namespace qkv
