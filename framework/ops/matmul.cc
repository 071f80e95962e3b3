//   C = A B                            A: [..., M, K], B: [..., K, N], C: [..., M, N]
//   dA = dC Bᵀ,  dB = Aᵀ dC
//   Ċ = Ȧ B + A Ḃ
//
// With transpose_a, A stands for Aᵀ in the formula, so that dA comes out transposed; B likewise.
// bf16 operands give an f32 product, or a bf16 one, and get bf16 gradients. Sums are f32.

#include "framework/kernels/product/matmul.h"

#include "framework/ops/support/masked_matmul.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Matmul final : public Op, public HasTangent, public HasAttributes {
 public:
  Matmul(const MatmulOptions& options, ZerosWin zeros) : options_(options), zeros_(zeros) {}
  std::string_view name() const override { return "matmul"; }
  std::vector<Attribute> attributes() const override {
    return {{"transpose_a", options_.transpose_a}, {"transpose_b", options_.transpose_b}};
  }

  // a [N or 1, M, K], b [N or 1, K, L] before their flags
  Array forward(const Inputs& x) override {
    const Array &a = x[0], &b = x[1];
    const bool ta = options_.transpose_a, tb = options_.transpose_b;
    const bool is_bf16 = options_.bf16_result && a.dtype() == DType::bf16;
    const int64_t batch = a.shape()[0] == 1 ? b.shape()[0] : a.shape()[0];  // may be 0
    Array c({batch, a.shape()[ta ? 2 : 1], b.shape()[tb ? 1 : 2]},
            is_bf16 ? DType::bf16 : computed_dtype(a.dtype()));
    kernels::matmul(a, b, ta, tb, nullptr, c);
    if (zeros_ == ZerosWin::kEverywhere) kernels::leave_out_zeros(a, b, ta, tb, c);
    return c;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const bool ta = options_.transpose_a, tb = options_.transpose_b;
    const DType dtype = saved.input(0).dtype();
    const Tensor dc = cast(dy, dtype);
    Tensor da, db;
    if (saved.needs(0)) {
      const Tensor& b = saved.input(1);
      da = ta ? product_back(b, dc, {.transpose_a = tb, .transpose_b = true})  // (dC Bᵀ)ᵀ = B dCᵀ
              : product_back(dc, b, {.transpose_b = !tb});
      da = cast(sum_to(da, saved.shape(0)), dtype);
    }
    if (saved.needs(1)) {
      const Tensor& a = saved.input(0);
      db = tb ? product_back(dc, a, {.transpose_a = true, .transpose_b = ta})  // (Aᵀ dC)ᵀ = dCᵀ A
              : product_back(a, dc, {.transpose_a = !ta});
      db = cast(sum_to(db, saved.shape(1)), dtype);
    }
    return {da, db};
  }

  Tensor tangent(TensorSpan x, const Tensor&, TensorSpan x_dot) override {
    return product_tangent(*this, x, x_dot);
  }

 private:
  Tensor product_back(const Tensor& a, const Tensor& b, const MatmulOptions& options) const {
    const bool is_masked = zeros_ != ZerosWin::kNowhere;
    return product_of_batches(a, b, options, is_masked ? ZerosWin::kEverywhere : zeros_);
  }

  MatmulOptions options_;
  ZerosWin zeros_;
};

}  // namespace

Tensor product_of_batches(const Tensor& a, const Tensor& b, const MatmulOptions& options,
                          ZerosWin zeros) {
  return apply<Matmul>({a, b}, options, zeros);
}

}  // namespace qkv
