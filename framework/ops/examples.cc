#include "framework/ops/examples.h"

#include <algorithm>

#include "framework/ops/ops.h"

namespace qkv {

// One line for each op: its file defines NAME_examples().
#define QKV_OPS(X)         \
  X(add)                   \
  X(add_scalar)            \
  X(attention)             \
  X(broadcast_to)          \
  X(cast)                  \
  X(concat)                \
  X(convolution)           \
  X(cross_entropy)         \
  X(depthwise_convolution) \
  X(div)                   \
  X(dropout)               \
  X(embedding)             \
  X(erf)                   \
  X(exp)                   \
  X(fold)                  \
  X(gather)                \
  X(gelu)                  \
  X(layer_norm)            \
  X(linear)                \
  X(log)                   \
  X(log_softmax)           \
  X(lstm)                  \
  X(masked_fill)           \
  X(matmul)                \
  X(max)                   \
  X(maximum)               \
  X(mean)                  \
  X(mul)                   \
  X(neg)                   \
  X(one_hot)               \
  X(pad)                   \
  X(permute)               \
  X(pow)                   \
  X(relu)                  \
  X(reshape)               \
  X(rms_norm)              \
  X(rnn)                   \
  X(rotary)                \
  X(rsqrt)                 \
  X(scale)                 \
  X(scatter_add)           \
  X(sigmoid)               \
  X(silu)                  \
  X(slice)                 \
  X(softmax)               \
  X(split)                 \
  X(sqrt)                  \
  X(stack)                 \
  X(sub)                   \
  X(sum)                   \
  X(sum_to)                \
  X(tanh)                  \
  X(transpose)             \
  X(unfold)                \
  X(variance)              \
  X(where)

#define QKV_DECLARE(NAME) OpExamples NAME##_examples();
QKV_OPS(QKV_DECLARE)
#undef QKV_DECLARE

std::vector<OpExamples> op_examples() {
  return {
#define QKV_CALL(NAME) NAME##_examples(),
      QKV_OPS(QKV_CALL)
#undef QKV_CALL
  };
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

}  // namespace qkv
