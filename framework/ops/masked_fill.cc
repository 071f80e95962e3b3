//   y = mask ? value : x               mask, x, y, dy: one shape, after broadcasting
//   dx = mask ? 0 : dy
//
// A masked element may be inf or NaN: its gradient is 0, chosen and not multiplied.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class MaskedFill final : public Op, public HasTangent, public HasAttributes, public HasKept {
 public:
  MaskedFill(const Array& mask, double value) : mask_(mask), value_(value) {}
  std::string_view name() const override { return "masked_fill"; }
  std::vector<Attribute> attributes() const override {
    return {{"mask", mask_}, {"value", value_}};
  }
  Saves saves() const override { return Saves::kNothing; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::masked_fill(x[0], mask_, value_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {masked_fill(dy, Tensor(mask_), 0.0)};
  }

  // The filled-in value is a constant.
  Tensor tangent(TensorSpan, const Tensor&, TensorSpan x_dot) override {
    return masked_fill(x_dot[0], Tensor(mask_), 0.0);
  }

  std::vector<Kept> kept() override { return {{"mask", &mask_}}; }

 private:
  Array mask_;
  double value_;
};

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_floating("masked_fill", {"x", x});
  check_dtype("masked_fill", {"mask", mask}, DType::boolean);
  const Shape shape = broadcast_shapes("masked_fill", x.shape(), mask.shape());
  return apply<MaskedFill>({broadcast_to(x, shape)}, broadcast_to(mask, shape).array(), value);
}

OpExamples masked_fill_examples() {
  const auto f = [](std::span<const Tensor> x) { return masked_fill(x[0], x[1], -2.5); };
  return {
      .op = "masked_fill",
      .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {Fill::kMask, {3, 4}}}, f},
                   {"one mask for a batch", {{Fill::kNormal, {2, 3, 4}}, {Fill::kMask, {3, 4}}}, f},
                   {"a row under many masks", {{Fill::kNormal, {4}}, {Fill::kMask, {3, 4}}}, f}},
      .errors =
          {{"a mask of numbers", [] { masked_fill(zeros({2}), zeros({2}), 0.0); },
            "masked_fill: needs bool: mask f32[2]"},
           {"shapes that clash",
            [] {
              masked_fill(zeros({2, 3}), zeros({4}, DType::boolean), 0.0);
            },
            "masked_fill: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"}},
  };
}

}  // namespace qkv
