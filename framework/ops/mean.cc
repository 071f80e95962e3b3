//   y = sum(x) / n                     over all n elements, or the n along one axis

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

double count_of(const Tensor& x, int64_t n) {
  if (n == 0) fail(absl::StrCat("mean: there are no elements: ", describe({{"x", x}})));
  return static_cast<double>(n);
}

}  // namespace

Tensor mean(const Tensor& x) {
  check_floating("mean", {"x", x});
  return sum(x) / count_of(x, x.size());
}

Tensor mean(const Tensor& x, int axis, bool keep_axis) {
  check_floating("mean", {"x", x});
  axis = check_axis("mean", {"x", x}, axis);
  return sum(x, axis, keep_axis) / count_of(x, x.dim(axis));
}

OpExamples mean_examples() {
  const ExampleInput input = {Fill::kNormal, {2, 3, 4}};
  return {
      .op = "mean",
      .examples = {{"all", {input}, [](std::span<const Tensor> x) { return mean(x[0]); }},
                   {"first axis", {input}, [](std::span<const Tensor> x) { return mean(x[0], 0); }},
                   {"last axis, kept",
                    {input},
                    [](std::span<const Tensor> x) { return mean(x[0], -1, true); }}},
      .errors = {{"of nothing",
                  [] {
                    mean(zeros({2, 0}));
                  },
                  "mean: there are no elements: x f32[2, 0]"},
                 {"along an empty axis",
                  [] {
                    mean(zeros({2, 0}), 1);
                  },
                  "mean: there are no elements: x f32[2, 0]"},
                 {"no such axis",
                  [] {
                    mean(zeros({2, 3}), 2);
                  },
                  "mean: there is no axis 2 in x f32[2, 3]"}},
  };
}

}  // namespace qkv
