//   y = sum((x - mean(x))²) / (n - correction)      over the n elements along one axis

#include "framework/ops/support/op_kit.h"

namespace qkv {

Tensor variance(const Tensor& x, int axis, int64_t correction, bool keep_axis) {
  check_floating("variance", {"x", x});
  axis = check_axis("variance", {"x", x}, axis);
  const int64_t n = x.dim(axis);
  if (correction < 0 || n <= correction) {
    fail(absl::StrCat("variance: needs more than ", correction, " elements, not ", n,
                      ", along axis ", axis, " of ", describe({{"x", x}}), " with correction ",
                      correction));
  }
  const Tensor centered = x - mean(x, axis, /*keep_axis=*/true);
  return sum(centered * centered, axis, keep_axis) / static_cast<double>(n - correction);
}

OpExamples variance_examples() {
  const ExampleInput input = {Fill::kNormal, {2, 3, 4}};
  const auto f = [](int axis, int64_t correction, bool keep_axis) {
    return [=](std::span<const Tensor> x) { return variance(x[0], axis, correction, keep_axis); };
  };
  return {
      .op = "variance",
      .examples = {{"last axis, kept", {input}, f(-1, 0, true)},
                   {"first axis, corrected", {{Fill::kNormal, {3, 2, 4}}}, f(0, 1, false)},
                   {"one element", {{Fill::kNormal, {3, 1}}}, f(1, 0, false)}},
      .errors = {{"too few elements",
                  [] {
                    variance(zeros({3, 1}), 1, 1);
                  },
                  "variance: needs more than 1 elements, not 1, along axis 1 of x f32[3, 1] with "
                  "correction 1"},
                 {"no such axis",
                  [] {
                    variance(zeros({2, 3}), 2);
                  },
                  "variance: there is no axis 2 in x f32[2, 3]"}},
  };
}

}  // namespace qkv
