//   y = mask ? a : b                   mask, a, b, y, dy: one shape, after broadcasting
//   da = mask ? dy : 0,  db = mask ? 0 : dy
//
// An element that is not chosen may be inf or NaN: its gradient is 0, chosen and not multiplied.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Where final : public Superposition, public HasAttributes, public HasKept {
 public:
  explicit Where(const Array& mask) : mask_(mask) {}
  std::string_view name() const override { return "where"; }
  std::vector<Attribute> attributes() const override { return {{"mask", mask_}}; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::where(mask_, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {saved.needs(0) ? where(Tensor(mask_), dy, zeros(dy.shape(), dy.dtype())) : Tensor(),
            saved.needs(1) ? masked_fill(dy, Tensor(mask_), 0.0) : Tensor()};
  }

  std::vector<Kept> kept() override { return {{"mask", &mask_}}; }

 private:
  Array mask_;
};

}  // namespace

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  check_dtype("where", {"mask", mask}, DType::boolean);
  const Pair pair = broadcast_together("where", a, b);
  const Shape shape = broadcast_shapes("where", mask.shape(), pair.a.shape());
  return apply<Where>({broadcast_to(pair.a, shape), broadcast_to(pair.b, shape)},
                      broadcast_to(mask, shape).array());
}

OpExamples where_examples() {
  const auto f = [](std::span<const Tensor> x) { return where(x[0], x[1], x[2]); };
  return {
      .op = "where",
      .examples = {{"one shape",
                    {{Fill::kMask, {3, 4}}, {Fill::kNormal, {3, 4}}, {Fill::kNormal, {3, 4}}},
                    f},
                   {"broadcast",
                    {{Fill::kMask, {3, 1}}, {Fill::kNormal, {2, 1, 4}}, {Fill::kNormal, {}}},
                    f}},
      .errors = {{"a mask of numbers", [] { where(zeros({2}), zeros({2}), zeros({2})); },
                  "where: needs bool: mask f32[2]"},
                 {"shapes that clash",
                  [] {
                    where(zeros({2}, DType::boolean), zeros({2, 3}), zeros({4}));
                  },
                  "where: shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
                 {"dtypes that differ",
                  [] { where(zeros({2}, DType::boolean), zeros({2}), zeros({2}, DType::f64)); },
                  "where: dtypes differ: a f32[2], b f64[2]; cast one of them"}},
  };
}

}  // namespace qkv
