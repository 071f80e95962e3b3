#include "framework/ops/kit.h"

namespace qkv {

OpExamples cross_entropy_examples() {
  const auto f = [](CrossEntropyOptions options) {
    return [options](std::span<const Tensor> x) { return cross_entropy(x[0], x[1], options); };
  };
  const ExampleInput logits = {Fill::kNormal, {2, 3, 5}};
  const ExampleInput all = {Fill::kIndices, {2, 3}, 5}, some = {Fill::kTargets, {2, 3}, 5};
  return {
      .op = "cross_entropy",
      .examples = {{"every row", {logits, all}, f({})},
                   {"some ignored", {logits, some}, f({})},
                   {"label smoothing", {logits, some}, f({.label_smoothing = 0.1})},
                   {"a class ignored", {logits, all}, f({.ignored = 2})},
                   {"divided by a number", {logits, some}, f({.divisor = 2.5})},
                   {"all ignored",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) {
                      return cross_entropy(x[0], full({3}, -1, DType::i64),
                                           {.label_smoothing = 0.1});
                    }},
                   {"one row", {{Fill::kNormal, {4}}, {Fill::kIndices, {}, 4}}, f({})}},
      .errors =
          {{"a target beyond the classes",
            [] {
              const std::vector<int64_t> targets = {0, -1, 5};
              cross_entropy(zeros({3, 5}), Tensor(Array::of({3}, targets)));
            },
            "cross_entropy: logits f32[3, 5], targets i64[3]: targets holds 5 at element 2; it "
            "must be from 0 to 4, or -1 to be ignored"},
           {"another shape",
            [] {
              cross_entropy(zeros({2, 3, 5}), zeros({2}, DType::i64));
            },
            "cross_entropy: targets must be [2, 3], one for each row: logits f32[2, 3, 5], targets "
            "i64[2]"},
           {"targets of numbers",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}));
            },
            "cross_entropy: needs i64: targets f32[2]"},
           {"too much smoothing",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}, DType::i64), {.label_smoothing = 1.5});
            },
            "cross_entropy: label_smoothing must be from 0 to 1, not 1.5: logits f32[2, 5]"},
           {"a negative divisor",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}, DType::i64), {.divisor = -1.0});
            },
            "cross_entropy: divisor must not be negative: -1: logits f32[2, 5]"}},
  };
}

}  // namespace qkv
