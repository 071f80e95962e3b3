//   y = x with its axes in another order: axis k of y is axis axes[k] of x
//   dx = dy with its axes put back

#include <algorithm>
#include <numeric>

#include "absl/strings/str_join.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Permute final : public Superposition, public HasAttributes {
 public:
  explicit Permute(const std::vector<int>& axes) : axes_(axes) {}
  std::string_view name() const override { return "permute"; }
  std::vector<Attribute> attributes() const override {
    return {{"axes", std::vector<int64_t>(axes_.begin(), axes_.end())}};
  }

  Array forward(const Inputs& x) override {
    std::vector<int64_t> dims;
    for (const int axis : axes_) dims.push_back(x[0].shape()[axis]);
    Array y(Shape(dims), x[0].dtype());
    kernels::permute(x[0], axes_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    std::vector<int> inverse(axes_.size());
    for (size_t k = 0; k < axes_.size(); ++k) {
      inverse[static_cast<size_t>(axes_[k])] = static_cast<int>(k);
    }
    return {permute(dy, inverse)};
  }

 private:
  std::vector<int> axes_;
};

std::vector<int> axes_in_order(const Tensor& x) {
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  check_defined("permute", {{"x", x}});
  std::vector<int> positive;
  std::vector<bool> seen(static_cast<size_t>(x.rank()));
  for (const int axis : axes) {
    positive.push_back(check_axis("permute", {"x", x}, axis));
    seen[static_cast<size_t>(positive.back())] = true;
  }
  const auto named = static_cast<size_t>(std::ranges::count(seen, true));
  if (axes.size() != seen.size() || named != seen.size()) {
    fail(absl::StrCat("permute: axes must name each axis once: ", describe({{"x", x}}), ", axes [",
                      absl::StrJoin(axes, ", "), "]"));
  }
  return positive == axes_in_order(x) ? x : apply<Permute>({x}, positive);
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  const int a = check_axis("transpose", {"x", x}, axis_a);
  const int b = check_axis("transpose", {"x", x}, axis_b);
  std::vector<int> axes = axes_in_order(x);
  std::swap(axes[static_cast<size_t>(a)], axes[static_cast<size_t>(b)]);
  return permute(x, axes);
}

OpExamples permute_examples() {
  const auto f = [](const std::vector<int>& axes) {
    return [axes](std::span<const Tensor> x) { return permute(x[0], axes); };
  };
  return {
      .op = "permute",
      .examples = {{"heads out of the way", {{Fill::kNormal, {2, 3, 4, 2}}}, f({0, 2, 1, 3})},
                   {"around", {{Fill::kNormal, {2, 3, 4}}}, f({2, 0, 1})},
                   {"as it was", {{Fill::kNormal, {2, 3}}}, f({0, 1})}},
      .errors = {{"an axis twice",
                  [] {
                    permute(zeros({2, 3}), {0, 0});
                  },
                  "permute: axes must name each axis once: x f32[2, 3], axes [0, 0]"},
                 {"an axis left out",
                  [] {
                    permute(zeros({2, 3}), {1});
                  },
                  "permute: axes must name each axis once: x f32[2, 3], axes [1]"},
                 {"no such axis",
                  [] {
                    permute(zeros({2, 3}), {0, 2});
                  },
                  "permute: there is no axis 2 in x f32[2, 3]"}},
  };
}

OpExamples transpose_examples() {
  return {
      .op = "transpose",
      .examples = {{"a matrix",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return transpose(x[0], 0, 1); }},
                   {"the outer axes",
                    {{Fill::kNormal, {2, 3, 4}}},
                    [](std::span<const Tensor> x) { return transpose(x[0], -3, -2); }}},
      .errors = {{"no such axis",
                  [] {
                    transpose(zeros({2, 3}), 0, -3);
                  },
                  "transpose: there is no axis -3 in x f32[2, 3]"}},
  };
}

}  // namespace qkv
