#include "framework/ops/kit.h"

namespace qkv {

OpExamples softmax_examples() {
  const auto f = [](std::span<const Tensor> x) { return softmax(x[0]); };
  return {
      .op = "softmax",
      .examples = {{"rows of 5", {{Fill::kNormal, {2, 3, 5}}}, f},
                   {"one class", {{Fill::kNormal, {4, 1}}}, f},
                   {"masked scores",
                    {{Fill::kNormal, {4, 6}}, {Fill::kMask, {4, 6}}},
                    [](std::span<const Tensor> x) {
                      return softmax(masked_fill(x[0], x[1], -1.0 / 0.0));
                    }}},
      .errors = {{"a scalar", [] { softmax(zeros({})); },
                  "softmax: there is no axis -1 in x f32[]"},
                 {"a mask", [] { softmax(zeros({2}, DType::boolean)); },
                  "softmax: needs f32 or f64: x bool[2]"}},
  };
}

}  // namespace qkv
