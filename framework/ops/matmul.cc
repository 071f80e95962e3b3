//   C = A B                            A: [..., M, K], B: [..., K, N], C: [..., M, N]
//   dA = dC Bᵀ,  dB = Aᵀ dC
//   Ċ = Ȧ B + A Ḃ
//
// Where zeros win, a term of a sum is left out if one of its factors is 0.
//
// With transpose_a, A stands for Aᵀ in the formula, so that dA comes out transposed; B likewise.
// bf16 operands give an f32 product, or a bf16 one, and get bf16 gradients. Sums are f32.

#include "framework/kernels/matmul.h"

#include "framework/ops/kit.h"
#include "framework/ops/scaled_dot_product_attention.h"

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
    const int64_t batch = a.shape()[0] == 1 ? b.shape()[0] : a.shape()[0];  // may be 0
    Array c(
        {batch, a.shape()[options_.transpose_a ? 2 : 1], b.shape()[options_.transpose_b ? 1 : 2]},
        options_.bf16_result && a.dtype() == DType::bf16 ? DType::bf16 : computed_dtype(a.dtype()));
    const bool ta = options_.transpose_a, tb = options_.transpose_b;
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

  static Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& options,
                        ZerosWin zeros) {
    return apply<Matmul>({a, b}, options, zeros);
  }

 private:
  Tensor product_back(const Tensor& a, const Tensor& b, const MatmulOptions& options) const {
    const bool is_masked = zeros_ != ZerosWin::kNowhere;
    return product(a, b, options, is_masked ? ZerosWin::kEverywhere : zeros_);
  }

  MatmulOptions options_;
  ZerosWin zeros_;
};

[[noreturn]] void fail_inner_sizes(const Tensor& a, const Tensor& b, int64_t inner_a,
                                   int64_t inner_b, const MatmulOptions& options) {
  std::string hint;
  if (inner_a == b.dim(options.transpose_b ? -2 : -1)) {
    hint = options.transpose_b ? "; did you mean no transpose_b?" : "; did you mean transpose_b?";
  } else if (inner_b == a.dim(options.transpose_a ? -1 : -2)) {
    hint = options.transpose_a ? "; did you mean no transpose_a?" : "; did you mean transpose_a?";
  }
  fail(absl::StrCat("matmul: inner sizes differ: ", describe({{"a", a}, {"b", b}}), ": ", inner_a,
                    " and ", inner_b, hint));
}

// The axes before the last two, and those two.
Shape batch_shape(const Tensor& x) { return x.shape().without(-1).without(-1); }

Tensor as_batch(const Tensor& x) {  // [..., M, K] -> [N, M, K]
  return reshape(x, {batch_shape(x).size(), x.dim(-2), x.dim(-1)});
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  return masked_matmul(a, b, options, ZerosWin::kNowhere);
}

Tensor masked_matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options,
                     ZerosWin zeros) {
  check_same_dtype("matmul", {{"a", a}, {"b", b}});
  if (!is_floating(a.dtype())) {
    fail(absl::StrCat("matmul: needs f32, f64 or bf16: ", describe({{"a", a}, {"b", b}})));
  }
  if (options.bf16_result && a.dtype() != DType::bf16) {
    fail(absl::StrCat("matmul: only bf16 operands have a bf16 result: ",
                      describe({{"a", a}, {"b", b}})));
  }
  if (a.rank() < 2 || b.rank() < 2) {
    fail(absl::StrCat("matmul: needs at least two axes: ", describe({{"a", a}, {"b", b}})));
  }
  const int64_t inner_a = a.dim(options.transpose_a ? -2 : -1);
  const int64_t inner_b = b.dim(options.transpose_b ? -1 : -2);
  if (inner_a != inner_b) fail_inner_sizes(a, b, inner_a, inner_b, options);

  const Shape batch = broadcast_shapes("matmul", batch_shape(a), batch_shape(b));
  const auto in_batch = [&](int64_t rows, int64_t columns) {  // [..., rows, columns]
    return batch.inserted(-1, rows, "matmul").inserted(-1, columns, "matmul");
  };
  const auto spread = [&](const Tensor& x) {  // one matrix for all is shared, not repeated
    if (batch_shape(x) == batch || batch_shape(x).size() == 1) return as_batch(x);
    return as_batch(broadcast_to(x, in_batch(x.dim(-2), x.dim(-1))));
  };
  const Shape shape =
      in_batch(a.dim(options.transpose_a ? -1 : -2), b.dim(options.transpose_b ? -2 : -1));
  return reshape(Matmul::product(spread(a), spread(b), options, zeros), shape.dims());
}

OpExamples matmul_examples() {
  const auto f = [](MatmulOptions options) {
    return [options](std::span<const Tensor> x) { return matmul(x[0], x[1], options); };
  };
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  return {
      .op = "matmul",
      .examples = {{"two matrices", {normal({3, 4}), normal({4, 5})}, f({})},
                   {"two square matrices", {normal({3, 3}), normal({3, 3})}, f({})},
                   {"transpose_a", {normal({4, 3}), normal({4, 5})}, f({.transpose_a = true})},
                   {"transpose_b", {normal({3, 4}), normal({5, 4})}, f({.transpose_b = true})},
                   {"both", {normal({2, 4, 3}), normal({2, 5, 4})}, f({true, true})},
                   {"batches of heads", {normal({2, 3, 4, 5}), normal({2, 3, 5, 2})}, f({})},
                   {"one matrix for all", {normal({2, 3, 4}), normal({4, 2})}, f({})},
                   {"one matrix for all, first", {normal({3, 4}), normal({2, 4, 2})}, f({})},
                   {"batches that broadcast", {normal({2, 1, 3, 4}), normal({3, 4, 2})}, f({})},
                   {"a matrix with itself",
                    {normal({3, 4})},
                    [](std::span<const Tensor> x) {
                      return matmul(x[0], x[0], {.transpose_b = true});
                    }}},
      .errors =
          {{"inner sizes that differ",
            [] {
              matmul(zeros({4, 16, 64}), zeros({128, 64}));
            },
            "matmul: inner sizes differ: a f32[4, 16, 64], b f32[128, 64]: 64 and 128; did you "
            "mean transpose_b?"},
           {"a vector",
            [] {
              matmul(zeros({4}), zeros({4, 2}));
            },
            "matmul: needs at least two axes: a f32[4], b f32[4, 2]"},
           {"indices",
            [] {
              matmul(zeros({2, 2}, DType::i64), zeros({2, 2}, DType::i64));
            },
            "matmul: needs f32, f64 or bf16: a i64[2, 2], b i64[2, 2]"},
           {"a bf16 result of f32 operands",
            [] {
              matmul(zeros({2, 2}), zeros({2, 2}), {.bf16_result = true});
            },
            "matmul: only bf16 operands have a bf16 result: a f32[2, 2], b f32[2, 2]"},
           {"batches that clash",
            [] {
              matmul(zeros({2, 3, 4}), zeros({3, 4, 5}));
            },
            "matmul: shapes do not broadcast: a [2], b [3]: sizes 2 and 3 at axis -1"}},
  };
}

}  // namespace qkv
