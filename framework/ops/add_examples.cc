#include "framework/ops/kit.h"

namespace qkv {

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
