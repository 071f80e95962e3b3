//   y = max of x over one axis         x, dx: [..., n, ...], y, dy, index: [..., ...]
//   dx = dy where the largest first stands (index), else 0
//
// A NaN is the largest.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Max final : public Op, public HasTangent, public HasAttributes, public HasKept {
 public:
  explicit Max(int axis) : axis_(axis) {}
  std::string_view name() const override { return "max"; }
  std::vector<Attribute> attributes() const override { return {{"axis", axis_}}; }
  Saves saves() const override { return Saves::kNothing; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape().with(axis_, 1), x[0].dtype());
    index_ = Array(y.shape(), DType::i64);
    const auto [outer, n, inner] = around_axis(x[0].shape(), axis_);
    kernels::max(x[0], outer, n, inner, y, index_);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {scatter_add(dy, axis_, Tensor(index_), saved.shape(0)[axis_])};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    const AroundAxis size = around_axis(x[0].shape(), axis_);
    Array y_dot(y.shape(), y.dtype());
    dispatch_floating("max", y.dtype(), [&]<class T>(T) {
      const T *from = x[0].array().data<T>(), *to = y.array().data<T>(),
              *moves = x_dot[0].array().data<T>();
      T* result = y_dot.mutable_data<T>();
      for (int64_t i = 0; i < y_dot.size(); ++i) {
        int64_t place = i / size.inner * size.n * size.inner + i % size.inner;
        for (int64_t k = 1; k < size.n && from[place] != to[i]; ++k) place += size.inner;
        result[i] = moves[place];
      }
    });
    return Tensor(y_dot);
  }

  std::vector<Kept> kept() override { return {{"index", &index_}}; }

 private:
  int axis_;
  Array index_;  // [..., 1, ...]
};

}  // namespace

Tensor max(const Tensor& x, int axis, bool keep_axis) {
  check_floating("max", {"x", x});
  axis = check_axis("max", {"x", x}, axis);
  if (x.dim(axis) == 0) {
    fail(absl::StrCat("max: axis ", axis, " has no elements: ", describe({{"x", x}})));
  }
  const Tensor y = apply<Max>({x}, axis);
  return keep_axis ? y : reshape(y, x.shape().without(axis).dims());
}

OpExamples max_examples() {
  const ExampleInput input = {Fill::kApart, {2, 3, 4}};
  const auto f = [](int axis, bool keep_axis) {
    return [=](std::span<const Tensor> x) { return max(x[0], axis, keep_axis); };
  };
  return {
      .op = "max",
      .examples = {{"first axis", {input}, f(0, false)},
                   {"middle axis", {input}, f(1, false)},
                   {"last axis, kept", {input}, f(-1, true)}},
      .errors = {{"of nothing",
                  [] {
                    max(zeros({2, 0}), 1);
                  },
                  "max: axis 1 has no elements: x f32[2, 0]"},
                 {"no such axis",
                  [] {
                    max(zeros({2, 3}), 2);
                  },
                  "max: there is no axis 2 in x f32[2, 3]"}},
  };
}

}  // namespace qkv
