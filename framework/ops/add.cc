//   y = a + b                          a, b, y, dy: one shape, after broadcasting
//   da = dy,  db = dy
//   ẏ = ȧ + ḃ

#include <cmath>

#include "framework/ops/kit.h"

namespace qkv {
namespace {

class Add final : public Superposition {
 public:
  std::string_view name() const override { return "add"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::add, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy, dy}; }

  // Whatever is added to a sum of n terms may as well be its first term: the bias of a product, a
  // gradient that a kernel adds to. It is then rounded as often as they.
  Rounding rounding(const ExactCall& call) override {
    const std::vector<double> a = call.x[0].to_vector(), b = call.x[1].to_vector();
    const double a_terms = call.sum_roundings[0], b_terms = call.sum_roundings[1];
    return each_rounding("|y|, and n |b| where a is a sum of n terms", call, 1.0,
                         [&](size_t i, double y) {
                           return std::abs(y) + a_terms * std::abs(b[i]) + b_terms * std::abs(a[i]);
                         });
  }
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::bf16 && b.dtype() == DType::bf16) {  // gradients that are added up
    if (a.shape() == b.shape()) return apply<Add>({a, b});
    fail(absl::StrCat("add: bf16 does not broadcast; cast it to f32 first: ",
                      describe({{"a", a}, {"b", b}})));
  }
  const Pair pair = broadcast_together("add", a, b);
  return apply<Add>({pair.a, pair.b});
}

OpExamples add_examples() {
  const auto f = [](std::span<const Tensor> x) { return x[0] + x[1]; };
  return {
      .op = "add",
      .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {Fill::kNormal, {3, 4}}}, f},
                   {"broadcast", {{Fill::kNormal, {2, 1, 4}}, {Fill::kNormal, {3, 1}}}, f},
                   {"a tensor with itself",
                    {{Fill::kNormal, {5}}},
                    [](std::span<const Tensor> x) { return x[0] + x[0]; }}},
      .errors = binary_errors("add", add),
  };
}

}  // namespace qkv
