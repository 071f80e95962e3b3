#include "framework/ops/support/op_examples.h"

#include <algorithm>

#include "framework/core/each_of.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {

std::span<OpExamples (*const)()> examples_of_each_op();

std::vector<OpExamples> op_examples() {
  std::vector<OpExamples> all =
      each_of(examples_of_each_op(), [](const auto examples) { return examples(); });
  std::ranges::sort(all, {}, &OpExamples::op);
  return all;
}

namespace {

// The values 0.1, -0.2, 0.3, … in an order that the stream decides.
std::vector<double> values_apart(int64_t size, RandomStream stream) {
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1 * static_cast<double>(i + 1) * (i % 2 == 0 ? 1 : -1);
  }
  shuffle(values, stream);
  return values;
}

Tensor make_input(const ExampleInput& input, DType dtype, RandomStream stream) {
  const auto size = static_cast<size_t>(input.shape.size());
  if (input.fill == Fill::kIndices || input.fill == Fill::kTargets) {
    std::vector<int64_t> values(size);
    for (size_t i = 0; i < size; ++i) {
      const auto value = static_cast<int64_t>(stream.below(static_cast<uint64_t>(input.bound)));
      values[i] = input.fill == Fill::kTargets && i % 3 == 2 ? -1 : value;
    }
    return Tensor(Array::of(input.shape, values));
  }
  std::vector<double> values(size);
  if (input.fill == Fill::kMask) {
    const auto row = static_cast<size_t>(input.shape.rank() == 0 ? 1 : input.shape[-1]);
    for (size_t i = 0; i < size; ++i) values[i] = i % row != 0 && stream.below(2) == 1;
    return Tensor(Array::of(input.shape, DType::boolean, values));
  }
  if (input.fill == Fill::kApart) values = values_apart(input.shape.size(), stream);
  if (input.fill == Fill::kNormal) std::ranges::generate(values, [&] { return stream.normal(); });
  if (input.fill == Fill::kSmall) {
    std::ranges::generate(values, [&] { return 0.3 * stream.normal(); });
  }
  if (input.fill == Fill::kPositive) {
    std::ranges::generate(values, [&] { return 0.5 + 1.5 * stream.uniform(); });
  }
  return parameter(Array::of(input.shape, dtype, values));
}

}  // namespace

std::vector<Tensor> make_inputs(const OpExample& example, DType dtype, const RandomStream& stream) {
  std::vector<Tensor> inputs;
  for (const ExampleInput& input : example.inputs) {
    inputs.push_back(make_input(input, dtype, stream.derive(inputs.size())));
  }
  return inputs;
}

OpExamples unary_examples(const std::string& op, Tensor (*f)(const Tensor& x), Fill fill) {
  const auto of_first = [f](ExampleTensors x) { return f(x[0]); };
  const bool is_positive = fill == Fill::kPositive;
  return {.op = op,
          .examples = {{is_positive ? "positive numbers" : "a matrix", {{fill, {3, 4}}}, of_first},
                       {"a scalar", {{Fill::kPositive, {}}}, of_first}},
          .errors = {{"indices", [f] { f(zeros({2}, DType::i64)); },
                      op + ": needs f32 or f64: x i64[2]"}}};
}

OpExamples binary_examples(const std::string& op, Tensor (*f)(const Tensor& a, const Tensor& b),
                           Fill second) {
  const auto of_both = [f](ExampleTensors x) { return f(x[0], x[1]); };
  return {.op = op,
          .examples = {{"one shape", {{Fill::kNormal, {3, 4}}, {second, {3, 4}}}, of_both},
                       {"broadcast", {{Fill::kNormal, {2, 1, 4}}, {second, {3, 1}}}, of_both},
                       {"a scalar", {{Fill::kNormal, {}}, {second, {2, 3}}}, of_both}},
          .errors = binary_errors(op, f)};
}

std::vector<ErrorExample> binary_errors(const std::string& op,
                                        Tensor (*f)(const Tensor& a, const Tensor& b)) {
  const auto misuse = [f](const Tensor& a, const Tensor& b) { return [=] { f(a, b); }; };
  return {{"shapes that clash", misuse(zeros({2, 3}), zeros({4})),
           op + ": shapes do not broadcast: a [2, 3], b [4]: sizes 3 and 4 at axis -1"},
          {"dtypes that differ", misuse(zeros({2}), zeros({2}, DType::f64)),
           op + ": dtypes differ: a f32[2], b f64[2]; cast one of them"},
          {"indices", misuse(zeros({2}, DType::i64), zeros({2}, DType::i64)),
           op + ": needs f32 or f64: a i64[2], b i64[2]"}};
}

// Those of the ops whose files are read aloud (docs/reading.md).
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
