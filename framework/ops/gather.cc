// Elements chosen along one axis; the two are each other's backward.
//   gather:       y[..., i, ...] = x[..., index[..., i, ...], ...]
//                               x: [..., n, ...], index, y: [..., m, ...]
//                 dx = scatter_add(dy)
//   scatter_add:  y[..., k, ...] = sum of x[..., i, ...] over the i with index[..., i, ...] = k
//                               x, index: [..., m, ...], y: [..., n, ...]
//                 dx = gather(dy)

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Gather final : public Superposition, public HasAttributes, public HasKept {
 public:
  Gather(int axis, const Array& index) : axis_(axis), index_(index) {}
  std::string_view name() const override { return "gather"; }
  std::vector<Attribute> attributes() const override {
    return {{"axis", axis_}, {"index", index_}};
  }

  Array forward(const Inputs& x) override {
    Array y(index_.shape(), x[0].dtype());
    const auto [outer, n, inner] = around_axis(x[0].shape(), axis_);
    kernels::gather(x[0], index_, outer, n, index_.shape()[axis_], inner, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {scatter_add(dy, axis_, Tensor(index_), saved.shape(0)[axis_])};
  }

  std::vector<Kept> kept() override { return {{"index", &index_}}; }

 private:
  int axis_;
  Array index_;
};

class ScatterAdd final : public Superposition, public HasAttributes, public HasKept {
 public:
  ScatterAdd(int axis, const Array& index, const Shape& shape)
      : axis_(axis), index_(index), shape_(shape) {}
  std::string_view name() const override { return "scatter_add"; }
  std::vector<Attribute> attributes() const override {
    return {{"axis", axis_}, {"index", index_}};
  }

  Array forward(const Inputs& x) override {
    Array y(shape_, x[0].dtype());
    const auto [outer, m, inner] = around_axis(x[0].shape(), axis_);
    kernels::scatter_add(x[0], index_, outer, shape_[axis_], m, inner, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {gather(dy, axis_, Tensor(index_))};
  }

  std::vector<Kept> kept() override { return {{"index", &index_}}; }

 private:
  int axis_;
  Array index_;
  Shape shape_;
};

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  check_floating("gather", {"x", x});
  axis = check_axis("gather", {"x", x}, axis);
  check_dtype("gather", {"index", index}, DType::i64);
  if (index.rank() != x.rank() || index.shape().with(axis, 0) != x.shape().with(axis, 0)) {
    fail(absl::StrCat("gather: index must have x's shape except along axis ", axis, ": ",
                      describe({{"x", x}, {"index", index}})));
  }
  check_index("gather", {"index", index}, x.dim(axis));
  return apply<Gather>({x}, axis, index.array());
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, int64_t size) {
  check_floating("scatter_add", {"x", x});
  axis = check_axis("scatter_add", {"x", x}, axis);
  check_dtype("scatter_add", {"index", index}, DType::i64);
  if (index.shape() != x.shape()) {
    fail(absl::StrCat("scatter_add: shapes differ: ", describe({{"x", x}, {"index", index}})));
  }
  const Shape shape = x.shape().with(axis, size, "scatter_add");
  check_index("scatter_add", {"index", index}, size);
  return apply<ScatterAdd>({x}, axis, index.array(), shape);
}

OpExamples gather_examples() {
  const auto f = [](int axis) {
    return [axis](std::span<const Tensor> x) { return gather(x[0], axis, x[1]); };
  };
  return {
      .op = "gather",
      .examples = {{"one of each row",
                    {{Fill::kNormal, {3, 5}}, {Fill::kIndices, {3, 1}, 5}},
                    f(-1)},
                   {"more than there are",
                    {{Fill::kNormal, {2, 3, 2}}, {Fill::kIndices, {2, 5, 2}, 3}},
                    f(1)},
                   {"first axis", {{Fill::kNormal, {3, 4}}, {Fill::kIndices, {2, 4}, 3}}, f(0)}},
      .errors =
          {{"an index beyond the axis",
            [] {
              gather(zeros({2, 3}), 1, full({2, 1}, 3, DType::i64));
            },
            "gather: index i64[2, 1] holds 3 at element 0; it must be from 0 to 2"},
           {"another shape",
            [] {
              gather(zeros({2, 3}), 1, zeros({3, 1}, DType::i64));
            },
            "gather: index must have x's shape except along axis 1: x f32[2, 3], index i64[3, "
            "1]"},
           {"an index of numbers",
            [] {
              gather(zeros({2, 3}), 1, zeros({2, 1}));
            },
            "gather: needs i64: index f32[2, 1]"}},
  };
}

OpExamples scatter_add_examples() {
  const auto f = [](int axis, int64_t size) {
    return [=](std::span<const Tensor> x) { return scatter_add(x[0], axis, x[1], size); };
  };
  return {
      .op = "scatter_add",
      .examples =
          {{"rows to columns", {{Fill::kNormal, {3, 2}}, {Fill::kIndices, {3, 2}, 4}}, f(1, 4)},
           {"many to few", {{Fill::kNormal, {2, 5, 2}}, {Fill::kIndices, {2, 5, 2}, 2}}, f(1, 2)}},
      .errors = {{"another shape",
                  [] {
                    scatter_add(zeros({2, 3}), 1, zeros({2, 2}, DType::i64), 3);
                  },
                  "scatter_add: shapes differ: x f32[2, 3], index i64[2, 2]"},
                 {"an index beyond the size",
                  [] { scatter_add(zeros({2}), 0, full({2}, 3, DType::i64), 3); },
                  "scatter_add: index i64[2] holds 3 at element 0; it must be from 0 to 2"}},
  };
}

}  // namespace qkv
