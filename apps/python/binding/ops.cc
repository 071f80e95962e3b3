#include "framework/ops/ops.h"

#include <memory>

#include "apps/python/binding/binding.h"
#include "framework/core/random.h"
#include "framework/ops/support/bf16.h"

// Those ops of ops.h whose arguments are others in Python. Options are keyword arguments with the
// names of their fields; None is an undefined tensor. OpsTest of tests/apps/python/ops_test.py
// compares with the header.
namespace qkv::python {
namespace {

using Optional = std::optional<Tensor>;  // None: undefined

Tensor defined_or_not(const Optional& x) { return x.value_or(Tensor()); }

GeluForm gelu_form(const std::string& name) {
  if (name == "erf") return GeluForm::kErf;
  if (name == "tanh") return GeluForm::kTanh;
  fail("gelu: form must be \"erf\" or \"tanh\", not \"" + name + "\"");
}

void bind_products(py::module_& m) {
  py::class_<RoundedWeight, std::shared_ptr<RoundedWeight>>(m, "RoundedWeight",
                                                            documentation("RoundedWeight"))
      .def(py::init());
  def(
      m, "matmul",
      [](const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, bool bf16_result) {
        return matmul(
            a, b,
            {.transpose_a = transpose_a, .transpose_b = transpose_b, .bf16_result = bf16_result});
      },
      "a"_a, "b"_a, "transpose_a"_a = false, "transpose_b"_a = false, "bf16_result"_a = false);
  def(
      m, "linear",
      [](const Tensor& x, const Tensor& weight, const Optional& bias, bool bf16_result,
         std::shared_ptr<RoundedWeight> rounded_weight) {
        return linear(x, weight, defined_or_not(bias),
                      {.bf16_result = bf16_result, .rounded_weight = std::move(rounded_weight)});
      },
      "x"_a, "weight"_a, "bias"_a = py::none(), "bf16_result"_a = false,
      "rounded_weight"_a = py::none());
  def(
      m, "attention",
      [](const Tensor& query, const Tensor& key, const Tensor& value, bool causal, int64_t window,
         std::optional<int64_t> first_query, const Optional& padding, const Optional& bias,
         const Optional& relative_bias, double scale, double dropout, const RandomStream& stream) {
        return attention(query, key, value,
                         {.mask = {.causal = causal,
                                   .window = window,
                                   .first_query = first_query,
                                   .padding = defined_or_not(padding),
                                   .bias = defined_or_not(bias),
                                   .relative_bias = defined_or_not(relative_bias)},
                          .scale = scale,
                          .dropout = dropout,
                          .stream = stream});
      },
      "query"_a, "key"_a, "value"_a, "causal"_a = false, "window"_a = 0,
      "first_query"_a = py::none(), "padding"_a = py::none(), "bias"_a = py::none(),
      "relative_bias"_a = py::none(), "scale"_a = 1.0, "dropout"_a = 0.0,
      "stream"_a = RandomStream(0));

  const auto convolve = [](auto convolution) {
    return
        [convolution](const Tensor& x, const Tensor& weight, const Optional& bias, int64_t before) {
          return convolution(x, weight, defined_or_not(bias), before);
        };
  };
  def(m, "convolution", convolve(&convolution), "x"_a, "weight"_a, "bias"_a, "before"_a);
  def(m, "depthwise_convolution", convolve(&depthwise_convolution), "x"_a, "weight"_a, "bias"_a,
      "before"_a);

  const auto scan = [](auto recurrence) {
    return [recurrence](const Tensor& x, const Tensor& weight, const Optional& first, bool reverse,
                        const Optional& padding) {
      return recurrence(
          x, weight,
          {.first = defined_or_not(first), .reverse = reverse, .padding = defined_or_not(padding)});
    };
  };
  def(m, "rnn", scan(&rnn), "x"_a, "weight"_a, "first"_a = py::none(), "reverse"_a = false,
      "padding"_a = py::none());
  def(m, "lstm", scan(&lstm), "x"_a, "weight"_a, "first"_a = py::none(), "reverse"_a = false,
      "padding"_a = py::none());
}

void bind_others(py::module_& m) {
  def(
      m, "gelu", [](const Tensor& x, const std::string& form) { return gelu(x, gelu_form(form)); },
      "x"_a, "form"_a = "erf");
  def(
      m, "reshape",
      [](const Tensor& x, const std::vector<int64_t>& shape) {  // in which one may be -1
        return reshape(x, std::span<const int64_t>(shape));
      },
      "x"_a, "shape"_a);
  def(
      m, "cross_entropy",
      [](const Tensor& logits, const Tensor& targets, int64_t ignored, double label_smoothing,
         double divisor) {
        return cross_entropy(
            logits, targets,
            {.ignored = ignored, .label_smoothing = label_smoothing, .divisor = divisor});
      },
      "logits"_a, "targets"_a, "ignored"_a = -1, "label_smoothing"_a = 0.0, "divisor"_a = 0.0);
  def(
      m, "layer_norm",
      [](const Tensor& x, const Tensor& weight, const Optional& bias, double epsilon) {
        return layer_norm(x, weight, defined_or_not(bias), epsilon);
      },
      "x"_a, "weight"_a, "bias"_a = py::none(), "epsilon"_a = 1e-5);
}

// x.sum(axis=0) for sum(x, axis=0).
void bind_methods(py::module_& m) {
  const py::object tensor = m.attr("Tensor");
  for (const char* name :
       {"exp",   "log",      "sqrt",    "rsqrt",       "erf",       "tanh",    "sigmoid",
        "relu",  "silu",     "gelu",    "cast",        "pow",       "sum",     "mean",
        "max",   "variance", "softmax", "log_softmax", "transpose", "permute", "slice",
        "split", "pad",      "gather",  "masked_fill", "matmul",    "dropout", "broadcast_to"}) {
    tensor.attr(name) =
        py::reinterpret_steal<py::object>(PyInstanceMethod_New(py::object(m.attr(name)).ptr()));
  }
}

}  // namespace

void bind_ops(py::module_& m) {
  py::class_<RandomStream>(m, "RandomStream", documentation("RandomStream"))
      .def(py::init<uint64_t, uint64_t>(), "seed"_a, "stream"_a = 0)
      .def("derive", py::overload_cast<std::string_view>(&RandomStream::derive, py::const_),
           "purpose"_a)
      .def("derive", py::overload_cast<uint64_t>(&RandomStream::derive, py::const_), "number"_a)
      .def("below", &RandomStream::below, "bound"_a)
      .def("uniform", method(&RandomStream::uniform))
      .def("normal", method(&RandomStream::normal));
  def(m, "zeros", zeros, "shape"_a, "dtype"_a = DType::f32);
  def(m, "ones", ones, "shape"_a, "dtype"_a = DType::f32);
  def(m, "full", full, "shape"_a, "value"_a, "dtype"_a = DType::f32);
  def(m, "random_normal", random_normal, "shape"_a, "stream"_a, "dtype"_a = DType::f32);
  bind_plain_ops(m);
  bind_products(m);
  bind_others(m);
  bind_methods(m);
}

}  // namespace qkv::python
