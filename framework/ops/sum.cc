//   y = sum of x over one axis         x, dx: [..., n, ...], y, dy: [..., ...]
//   dx = dy, repeated along that axis

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Sum final : public Superposition, public HasAttributes {
 public:
  explicit Sum(int axis) : axis_(axis) {}
  std::string_view name() const override { return "sum"; }
  std::vector<Attribute> attributes() const override { return {{"axis", axis_}}; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape().without(axis_), x[0].dtype());
    const auto [outer, n, inner] = around_axis(x[0].shape(), axis_);
    kernels::sum(x[0], outer, n, inner, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor kept = reshape(dy, saved.shape(0).with(axis_, 1).dims());
    return {broadcast_to(kept, saved.shape(0))};
  }

 private:
  int axis_;
};

}  // namespace

Tensor sum(const Tensor& x) {
  check_floating("sum", {"x", x});
  return apply<Sum>({reshape(x, {x.size()})}, 0);
}

Tensor sum(const Tensor& x, int axis, bool keep_axis) {
  check_floating("sum", {"x", x});
  axis = check_axis("sum", {"x", x}, axis);
  const Tensor y = apply<Sum>({x}, axis);
  return keep_axis ? reshape(y, x.shape().with(axis, 1).dims()) : y;
}

OpExamples sum_examples() {
  const ExampleInput input = {Fill::kNormal, {2, 3, 4}};
  const auto f = [](int axis, bool keep_axis) {
    return [=](std::span<const Tensor> x) { return sum(x[0], axis, keep_axis); };
  };
  return {
      .op = "sum",
      .examples = {{"all", {input}, [](std::span<const Tensor> x) { return sum(x[0]); }},
                   {"of a scalar",
                    {{Fill::kNormal, {}}},
                    [](std::span<const Tensor> x) { return sum(x[0]); }},
                   {"first axis", {input}, f(0, false)},
                   {"middle axis", {input}, f(1, false)},
                   {"last axis, kept", {input}, f(-1, true)}},
      .errors = {{"no such axis",
                  [] {
                    sum(zeros({2, 3}), 2);
                  },
                  "sum: there is no axis 2 in x f32[2, 3]"},
                 {"indices", [] { sum(zeros({2}, DType::i64)); },
                  "sum: needs f32 or f64: x i64[2]"}},
  };
}

}  // namespace qkv
