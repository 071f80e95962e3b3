#include "framework/ops/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/golden/golden_file.h"

namespace qkv {
namespace {

using golden::GoldenFile;
using golden::relative_difference;

using Tensors = std::vector<Tensor>;

// A case of tests/golden/ops.safetensors, or of another file.
struct OpCase {
  std::string name;
  std::vector<std::string> inputs;  // that a gradient is asked for
  // The op on `x`, the inputs; `constant` reads one of the case's tensors that have no gradient.
  std::function<Tensor(const Tensors& x, const std::function<Tensor(const char*)>& constant)> op;
  std::string file = "ops";
};

std::ostream& operator<<(std::ostream& out, const OpCase& op_case) { return out << op_case.name; }

OpCase attention_case(const std::string& name, bool causal, bool padded, bool scaled) {
  return {name, {"query", "key", "value"}, [=](const Tensors& x, const auto& constant) {
            const AttentionMask mask = {.causal = causal,
                                        .padding = padded ? constant("padding") : Tensor()};
            const double d_k = static_cast<double>(x[0].dim(-1));
            return scaled_dot_product_attention(
                x[0], x[1], x[2], {.mask = mask, .scale = scaled ? 1.0 / std::sqrt(d_k) : 1.0});
          }};
}

OpCase cross_entropy_case(const std::string& name, double label_smoothing) {
  return {name, {"logits"}, [=](const Tensors& x, const auto& constant) {
            return cross_entropy(x[0], constant("targets"), {.label_smoothing = label_smoothing});
          }};
}

OpCase convolution_case(const std::string& name, bool depthwise, int64_t before) {
  return {name,
          {"x", "weight", "bias"},
          [=](const Tensors& x, const auto&) {
            return depthwise ? depthwise_convolution(x[0], x[1], x[2], before)
                             : convolution(x[0], x[1], x[2], before);
          },
          "mixers"};
}

// PyTorch's parameters, in its order and under its names: weight_ih, weight_hh, bias_ih, bias_hh of
// one direction, then of the other, or the state to begin with.
OpCase recurrence_case(const std::string& name, bool is_lstm, bool both_directions) {
  std::vector<std::string> inputs = {"x"};
  for (const char* suffix : {"", "_reverse"}) {
    for (const char* parameter : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
      inputs.push_back(std::string(parameter) + suffix);
    }
    if (!both_directions) break;
  }
  if (!both_directions) inputs.emplace_back("h0");
  if (!both_directions && is_lstm) inputs.emplace_back("c0");
  const auto op = [=](const Tensors& x, const auto&) {
    const auto states = [&](size_t first, const ScanOptions& options) {
      const Tensor projected = linear(x[0], x[first], x[first + 2] + x[first + 3]);
      const Tensor all =
          is_lstm ? lstm(projected, x[first + 1], options) : rnn(projected, x[first + 1], options);
      return slice(all, 2, 0, x[first + 1].dim(1));
    };
    if (both_directions) return concat({states(1, {}), states(5, {.reverse = true})}, 2);
    return states(1, {.first = is_lstm ? concat({x[5], x[6]}, 1) : x[5]});
  };
  return {name, inputs, op, "mixers"};
}

std::vector<OpCase> op_cases() {
  return {
      {"softmax", {"x"}, [](const Tensors& x, const auto&) { return softmax(x[0]); }},
      {"log_softmax", {"x"}, [](const Tensors& x, const auto&) { return log_softmax(x[0]); }},
      {"layer_norm",
       {"x", "weight", "bias"},
       [](const Tensors& x, const auto&) { return layer_norm(x[0], x[1], x[2]); }},
      {"rms_norm",
       {"x", "weight"},
       [](const Tensors& x, const auto&) { return rms_norm(x[0], x[1]); }},
      {"gelu", {"x"}, [](const Tensors& x, const auto&) { return gelu(x[0], GeluForm::kErf); }},
      {"gelu_tanh",
       {"x"},
       [](const Tensors& x, const auto&) { return gelu(x[0], GeluForm::kTanh); }},
      {"silu", {"x"}, [](const Tensors& x, const auto&) { return silu(x[0]); }},
      cross_entropy_case("cross_entropy", 0.0),
      cross_entropy_case("cross_entropy_smoothing", 0.1),
      cross_entropy_case("cross_entropy_ignored", 0.0),
      cross_entropy_case("cross_entropy_smoothing_ignored", 0.1),
      {"embedding",
       {"weight"},
       [](const Tensors& x, const auto& constant) { return embedding(x[0], constant("indices")); }},
      attention_case("attention", false, false, true),
      attention_case("attention_unscaled", false, false, false),
      attention_case("attention_causal", true, false, true),
      attention_case("attention_padding", false, true, true),
      attention_case("attention_causal_padding", true, true, true),
      convolution_case("convolution_causal", false, 2),
      convolution_case("convolution_centred", false, 1),
      convolution_case("depthwise_convolution_causal", true, 2),
      convolution_case("depthwise_convolution_centred", true, 2),
      recurrence_case("rnn", false, false),
      recurrence_case("rnn_both_directions", false, true),
      recurrence_case("lstm", true, false),
      recurrence_case("lstm_both_directions", true, true),
  };
}

struct Accuracy {
  DType dtype;
  double tolerance;  // on the difference relative to the largest number of a tensor
};

std::ostream& operator<<(std::ostream& out, const Accuracy& accuracy) {
  return out << dtype_name(accuracy.dtype);
}

class OpGoldenTest : public testing::TestWithParam<std::tuple<OpCase, Accuracy>> {
 protected:
  // Runs the op and its backward, and expects the numbers of the file; returns the largest error.
  double compare() const {
    const OpCase& op_case = std::get<0>(GetParam());
    const Accuracy& accuracy = std::get<1>(GetParam());
    const GoldenFile file(op_case.file);
    const auto read = [&](const std::string& name, DType dtype) {
      return file.tensor(op_case.name + "." + name, dtype);
    };
    Tensors inputs;
    for (const std::string& name : op_case.inputs) {
      inputs.push_back(parameter(read(name, accuracy.dtype).array()));
    }
    const Tensor y = op_case.op(inputs, [&](const char* name) { return read(name, DType::f64); });
    const Gradients gradients = backward(y, {.cotangent = read("dy", accuracy.dtype)});

    double largest = relative_difference(y, read("y", DType::f64));
    EXPECT_LE(largest, accuracy.tolerance) << "output";
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = "d" + op_case.inputs[i];
      const double error = relative_difference(gradients[inputs[i]], read(name, DType::f64));
      EXPECT_LE(error, accuracy.tolerance) << name;
      largest = std::max(largest, error);
    }
    return largest;
  }
};

TEST_P(OpGoldenTest, OutputAndGradientsAreThoseOfPyTorch) {
  RecordProperty("largest_relative_error", absl::StrFormat("%.2g", compare()));
}

TEST_P(OpGoldenTest, TheComposedFormulaGivesTheNumbersOfPyTorchToo) {
  const ComposedOnly composed;
  RecordProperty("largest_relative_error", absl::StrFormat("%.2g", compare()));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGoldenTest,
                         testing::Combine(testing::ValuesIn(op_cases()),
                                          testing::Values(Accuracy{DType::f64, 1e-9},
                                                          Accuracy{DType::f32, 1e-4})),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::string(dtype_name(std::get<1>(test.param).dtype));
                         });

}  // namespace
}  // namespace qkv
