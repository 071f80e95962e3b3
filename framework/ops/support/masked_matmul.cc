#include "framework/ops/support/masked_matmul.h"

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

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

void check_matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
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
  check_matmul(a, b, options);
  const Shape batch = broadcast_shapes("matmul", batch_shape(a), batch_shape(b));
  const auto in_batch = [&](int64_t rows, int64_t columns) {  // [..., rows, columns]
    return batch.inserted(-1, rows, "matmul").inserted(-1, columns, "matmul");
  };
  const auto spread = [&](const Tensor& x) {  // one matrix for all is shared, not repeated
    if (batch_shape(x).size() == 1) return as_batch(x);
    return as_batch(broadcast_to(x, in_batch(x.dim(-2), x.dim(-1))));
  };
  const Shape shape =
      in_batch(a.dim(options.transpose_a ? -1 : -2), b.dim(options.transpose_b ? -2 : -1));
  return reshape(product_of_batches(spread(a), spread(b), options, zeros), shape.dims());
}

}  // namespace qkv
