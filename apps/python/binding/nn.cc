#include <atomic>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"
#include "apps/python/binding/config_of_dict.h"
#include "apps/python/binding/run.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "framework/ops/ops.h"
#include "models/mixer_kind.h"
#include "train/folder/experiment.h"

// Layers and models of C++ as Python's objects: called on tensors, and asked for parameters by
// name.
namespace qkv::python {
namespace {

template <class Module>
py::dict parameters_of(const Module& module) {
  py::dict result;
  for (const NamedParameter& p : parameters(module)) result[py::str(p.name)] = p.tensor;
  return result;
}

template <class Module>
py::class_<Module> def_module(py::module_& m, const char* name) {
  return py::class_<Module>(m, name, documentation(name))
      .def("parameters", &parameters_of<Module>, "Each parameter by its name.");
}

// A forward pass: dropout is active in training, and drawn from the stream, or else from one that
// no pass had before.
ForwardContext context_of(bool training, const std::optional<RandomStream>& stream) {
  static std::atomic<uint64_t> passes = 0;
  ForwardContext context;
  context.training = training;
  if (training) context.random = stream ? *stream : RandomStream(0, ++passes);
  return context;
}

MultiHeadAttention attention_layer(Initializer& init, int64_t d_model, int64_t num_heads,
                                   int64_t num_key_value_heads, bool bias, double dropout,
                                   double standard_deviation) {
  return make_attention(init,
                        {.d_model = d_model,
                         .num_heads = num_heads,
                         .init_std = standard_deviation,
                         .dropout = dropout,
                         .bias = bias,
                         .attention = {.num_key_value_heads = num_key_value_heads}},
                        standard_deviation);
}

Tensor attend(const MultiHeadAttention& layer, const Tensor& x, bool causal, int64_t window,
              const std::optional<Tensor>& padding, bool training,
              const std::optional<RandomStream>& stream) {
  ForwardContext context = context_of(training, stream);
  return layer(x, {.causal = causal, .window = window, .padding = padding.value_or(Tensor())},
               context);
}

FeedForward feed_forward_layer(Initializer& init, int64_t d_model, int64_t d_ff,
                               const std::string& activation, bool bias, double dropout,
                               double standard_deviation) {
  const std::optional<Activation> known = value_of<Activation>(activation);
  if (!known) fail("feed_forward: there is no activation \"" + activation + "\"");
  return {.up = Linear(init, d_model, d_ff, bias, standard_deviation),
          .down = Linear(init, d_ff, d_model, bias, standard_deviation),
          .activation = *known,
          .dropout = {.p = dropout},
          .gate = *known == Activation::kSwiglu
                      ? Linear(init, d_model, d_ff, bias, standard_deviation)
                      : Linear()};
}

Model model_of(const py::dict& config, int64_t vocabulary_size, int64_t max_length,
               int64_t source_length, int64_t classes, int64_t channels, int64_t height,
               int64_t width) {
  const DataShape data = {.vocabulary_size = vocabulary_size,
                          .max_length = max_length,
                          .source_length = source_length,
                          .classes = classes,
                          .channels = channels,
                          .height = height,
                          .width = width};
  if (!data.is_image() && vocabulary_size < 1) fail("Model: the vocabulary_size is missing");
  return make_model(config_of_dict(config).config, data);
}

Tensor input_of(const Model& model, py::handle input) {
  Tensor x = py::isinstance<Tensor>(input) ? input.cast<Tensor>() : Tensor(array_from(input));
  if (model.data().is_image()) return cast(x, parameters(model).front().tensor.dtype());
  return x.rank() == 1 ? reshape(x, Shape{1, x.size()}) : x;
}

void bind_layers(py::module_& m) {
  py::class_<Initializer>(m, "Initializer", documentation("Initializer"))
      .def(py::init([](uint64_t seed, DType dtype, bool bf16_products) {
             return Initializer(RandomStream(seed), dtype, bf16_products);
           }),
           "seed"_a = 1, "dtype"_a = DType::f32, "bf16_products"_a = false)
      .def("normal", &Initializer::normal, "shape"_a, "standard_deviation"_a)
      .def("zeros", &Initializer::zeros, "shape"_a)
      .def("ones", &Initializer::ones, "shape"_a);

  def_module<Linear>(m, "Linear")
      .def(py::init<Initializer&, int64_t, int64_t, bool, double>(), "init"_a, "in_features"_a,
           "out_features"_a, "bias"_a = true, "standard_deviation"_a = 0.02)
      .def_readonly("weight", &Linear::weight)
      .def(
          "__call__",
          [](const Linear& layer, const Tensor& x, const std::optional<Tensor>& weight) {
            return layer(x, weight.value_or(layer.weight));
          },
          "x"_a, "weight"_a = py::none(), WhileComputing());
  def_module<Embedding>(m, "Embedding")
      .def(py::init<Initializer&, int64_t, int64_t, double>(), "init"_a, "count"_a, "width"_a,
           "standard_deviation"_a = 0.02)
      .def_readonly("weight", &Embedding::weight)
      .def("__call__", &Embedding::operator(), "index"_a, WhileComputing());
  def_module<LayerNorm>(m, "LayerNorm")
      .def(py::init<Initializer&, int64_t, bool>(), "init"_a, "width"_a, "bias"_a = true)
      .def_readonly("weight", &LayerNorm::weight)
      .def_readwrite("epsilon", &LayerNorm::epsilon)
      .def("__call__", &LayerNorm::operator(), "x"_a, WhileComputing());
  def_module<RmsNorm>(m, "RmsNorm")
      .def(py::init<Initializer&, int64_t>(), "init"_a, "width"_a)
      .def_readonly("weight", &RmsNorm::weight)
      .def_readwrite("epsilon", &RmsNorm::epsilon)
      .def("__call__", &RmsNorm::operator(), "x"_a, WhileComputing());
  def_module<MultiHeadAttention>(m, "MultiHeadAttention")
      .def(py::init(&attention_layer), "init"_a, "d_model"_a, "num_heads"_a,
           "num_key_value_heads"_a = 0, "bias"_a = true, "dropout"_a = 0.0,
           "standard_deviation"_a = 0.02)
      .def("__call__", &attend, "x"_a, "causal"_a = false, "window"_a = 0, "padding"_a = py::none(),
           "training"_a = false, "stream"_a = py::none(), WhileComputing());
  def_module<FeedForward>(m, "FeedForward")
      .def(py::init(&feed_forward_layer), "init"_a, "d_model"_a, "d_ff"_a, "activation"_a = "gelu",
           "bias"_a = true, "dropout"_a = 0.0, "standard_deviation"_a = 0.02)
      .def(
          "__call__",
          [](const FeedForward& layer, const Tensor& x, bool training,
             const std::optional<RandomStream>& stream) {
            ForwardContext context = context_of(training, stream);
            return layer(x, context);
          },
          "x"_a, "training"_a = false, "stream"_a = py::none(), WhileComputing());
}

}  // namespace

Tensor call_model(const Model& model, const py::args& inputs, ForwardContext context) {
  std::vector<Tensor> tensors;
  for (const py::handle input : inputs) tensors.push_back(input_of(model, input));
  const Computing computing;
  const Interruptible interruptible;
  return model(tensors, context);
}

void bind_nn(py::module_& m) {
  bind_layers(m);
  def_module<Model>(m, "Model")
      .def(py::init(&model_of), "config"_a, py::kw_only(), "vocabulary_size"_a = 0,
           "max_length"_a = 0, "source_length"_a = 0, "classes"_a = 0, "channels"_a = 0,
           "height"_a = 0, "width"_a = 0,
           "The model of a config, a dict of its keys, with weights from its seed:\n"
           "qkv.Model({'seed': 1, 'model': {'kind': 'decoder', 'd_model': 64}}, "
           "vocabulary_size=65, max_length=32).\n./qkv config --help lists the keys.")
      .def(
          "__call__",
          [](const Model& model, const py::args& inputs, bool training,
             const std::optional<RandomStream>& stream) {
            return call_model(model, inputs, context_of(training, stream));
          },
          py::kw_only(), "training"_a = false, "stream"_a = py::none(),
          "The logits: model(tokens), with tokens [T] or [B, T]; of an encoder-decoder "
          "model(source, target), of images model(pixels).\nIn training, dropout is drawn from "
          "the stream, or else from one that no call had before.");
}

}  // namespace qkv::python
