//   y[..., c] = 1 where c = index[...], else 0        index: [...], y: [..., classes]
//
// A constant: no gradient flows to indices.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class OneHot final : public Op {
 public:
  OneHot(const Shape& shape, DType dtype) : shape_(shape), dtype_(dtype) {}
  std::string_view name() const override { return "one_hot"; }

  Array forward(const Inputs& x) override {
    Array y(shape_, dtype_);
    kernels::one_hot(x[0], shape_[-1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor&) const override { return {Tensor()}; }

 private:
  Shape shape_;
  DType dtype_;
};

}  // namespace

Tensor one_hot(const Tensor& index, int64_t classes, DType dtype) {
  if (classes < 1) fail(absl::StrCat("one_hot: needs at least one class, not ", classes));
  check_index("one_hot", {"index", index}, classes);
  return apply<OneHot>({index}, index.shape().inserted(-1, classes, "one_hot"), dtype);
}

OpExamples one_hot_examples() {
  return {
      .op = "one_hot",
      .examples =
          {{"rows of a product",
            {{Fill::kIndices, {2, 3}, 4}, {Fill::kNormal, {4}}},
            [](std::span<const Tensor> x) { return one_hot(x[0], 4, x[1].dtype()) * x[1]; }},
           {"a scalar",
            {{Fill::kIndices, {}, 4}, {Fill::kNormal, {4}}},
            [](std::span<const Tensor> x) { return one_hot(x[0], 4, x[1].dtype()) + x[1]; }}},
      .errors = {{"an index beyond the classes", [] { one_hot(full({2}, 4, DType::i64), 4); },
                  "one_hot: index i64[2] holds 4 at element 0; it must be from 0 to 3"},
                 {"no classes", [] { one_hot(zeros({2}, DType::i64), 0); },
                  "one_hot: needs at least one class, not 0"},
                 {"an index of numbers", [] { one_hot(zeros({2}), 4); },
                  "one_hot: needs i64: index f32[2]"}},
  };
}

}  // namespace qkv
