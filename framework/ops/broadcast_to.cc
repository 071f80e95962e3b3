// Broadcasting, undone in one place; the two are each other's backward.
//   broadcast_to:  y = x repeated along the axes that it has not, or where its size is 1
//                  dx = dy summed over those axes
//   sum_to:        y = x summed over the axes that `shape` has not, or where its size is 1
//                  dx = dy repeated along those axes
//                  the sums of bf16 numbers are f32; gradients of bf16 numbers are bf16 again

#include "framework/ops/support/bf16.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class BroadcastTo final : public Superposition {
 public:
  explicit BroadcastTo(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "broadcast_to"; }

  Array forward(const Inputs& x) override {
    Array y(shape_, x[0].dtype());
    kernels::broadcast(x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {cast(sum_to(dy, saved.shape(0)), saved.dtype(0))};
  }

 private:
  Shape shape_;
};

// Neighbouring axes that are all summed, or all kept, in one.
struct Run {
  int64_t size;
  bool summed;
};

std::vector<Run> runs_of(const Shape& from, const Shape& to) {
  std::vector<Run> runs;
  for (int i = -from.rank(); i < 0; ++i) {
    const bool summed = -i > to.rank() || to[i] != from[i];
    if (from[i] == 1 && !summed) continue;
    if (!runs.empty() && runs.back().summed == summed) {
      runs.back().size *= from[i];
    } else {
      runs.push_back({from[i], summed});
    }
  }
  return runs;
}

int64_t product(std::span<const Run> runs) {
  int64_t size = 1;
  for (const Run& run : runs) size *= run.size;
  return size;
}

class SumTo final : public Superposition {
 public:
  explicit SumTo(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "sum_to"; }

  Array forward(const Inputs& x) override {
    std::vector<Run> runs = runs_of(x[0].shape(), shape_);
    Array y = x[0];
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].summed) continue;
      const std::span<const Run> all = runs;
      const int64_t outer = product(all.first(i)), inner = product(all.subspan(i + 1));
      Array sums({outer, inner}, computed_dtype(y.dtype()));
      kernels::sum(y, outer, runs[i].size, inner, sums);
      runs[i].size = 1;
      y = sums;
    }
    return y.reshaped(shape_);
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {cast(broadcast_to(dy, saved.shape(0)), saved.dtype(0))};
  }

 private:
  Shape shape_;
};

// Whether `small` stretches to `large`.
bool stretches(const Shape& small, const Shape& large) {
  if (small.rank() > large.rank()) return false;
  for (int i = 1; i <= small.rank(); ++i) {
    if (small[-i] != large[-i] && small[-i] != 1) return false;
  }
  return true;
}

}  // namespace

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  check_defined("broadcast_to", {{"x", x}});
  if (x.shape() == shape) return x;
  if (!stretches(x.shape(), shape)) {
    fail(absl::StrCat("broadcast_to: ", describe({{"x", x}}), " does not stretch to ",
                      shape.to_string(), ": aligned at the right, only a size of 1 can"));
  }
  return apply<BroadcastTo>({x}, shape);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check_defined("sum_to", {{"x", x}});
  if (x.shape() == shape) return widened(x);
  check_floating_or_bf16("sum_to", {"x", x});
  if (!stretches(shape, x.shape())) {
    fail(absl::StrCat("sum_to: ", shape.to_string(), " does not stretch to ", describe({{"x", x}}),
                      ": aligned at the right, only a size of 1 can"));
  }
  return apply<SumTo>({x}, shape);
}

OpExamples broadcast_to_examples() {
  const auto f = [](Shape shape) {
    return [shape](std::span<const Tensor> x) { return broadcast_to(x[0], shape); };
  };
  return {
      .op = "broadcast_to",
      .examples = {{"a row", {{Fill::kNormal, {4}}}, f({2, 3, 4})},
                   {"a column", {{Fill::kNormal, {3, 1}}}, f({3, 4})},
                   {"a scalar", {{Fill::kNormal, {}}}, f({2, 3})},
                   {"inside and outside", {{Fill::kNormal, {2, 1, 3, 1}}}, f({2, 2, 3, 2})},
                   {"to the same shape", {{Fill::kNormal, {2, 3}}}, f({2, 3})}},
      .errors = {{"a size that differs",
                  [] {
                    broadcast_to(zeros({3}), {2, 4});
                  },
                  "broadcast_to: x f32[3] does not stretch to [2, 4]: aligned at the right, only a "
                  "size of 1 can"},
                 {"too many axes",
                  [] {
                    broadcast_to(zeros({1, 3}), {3});
                  },
                  "broadcast_to: x f32[1, 3] does not stretch to [3]: aligned at the right, only a "
                  "size of 1 can"}},
  };
}

OpExamples sum_to_examples() {
  const auto f = [](Shape shape) {
    return [shape](std::span<const Tensor> x) { return sum_to(x[0], shape); };
  };
  return {
      .op = "sum_to",
      .examples = {{"a row", {{Fill::kNormal, {2, 3, 4}}}, f({4})},
                   {"a column", {{Fill::kNormal, {3, 4}}}, f({3, 1})},
                   {"a scalar", {{Fill::kNormal, {2, 3}}}, f({})},
                   {"inside and outside", {{Fill::kNormal, {2, 3, 2, 3, 2}}}, f({3, 1, 3, 1})},
                   {"to the same shape", {{Fill::kNormal, {2, 3}}}, f({2, 3})}},
      .errors = {{"a size that differs",
                  [] {
                    sum_to(zeros({2, 4}), {3});
                  },
                  "sum_to: [3] does not stretch to x f32[2, 4]: aligned at the right, only a size "
                  "of 1 can"},
                 {"indices", [] { sum_to(zeros({2}, DType::i64), {}); },
                  "sum_to: needs f32, f64 or bf16: x i64[2]"}},
  };
}

}  // namespace qkv
