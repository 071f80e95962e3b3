#include "framework/ops/kit.h"

namespace qkv {

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
