#include "framework/nn/examples.h"
#include "framework/nn/mixer.h"

namespace qkv {
namespace {

constexpr int64_t kSequenceWidth = 3, kSequenceLength = 4;

ExampleInput sequences() { return {Fill::kNormal, {2, kSequenceLength, kSequenceWidth}}; }

// An example with the inputs x and, if it is padded, the padding.
template <class Layer>
OpExample example(const char* name, const Layer& layer, bool causal, bool padded = false) {
  std::vector<ExampleInput> inputs = {sequences()};
  std::vector<std::string> names = {"x"};
  if (padded) {
    inputs.push_back({Fill::kMask, {2, kSequenceLength}});
    names.emplace_back("padding");
  }
  return module_example(name, layer, std::move(inputs), std::move(names),
                        [causal](const Layer& mixer, ExampleTensors x) {
                          ForwardContext context;
                          const Tensor padding = x.size() > 1 ? x[1] : Tensor();
                          return mixer(x[0], {.causal = causal, .padding = padding}, context);
                        });
}

OpExamples convolution_layer(const Initializer& initializer) {
  const auto layer = [&](int64_t kernel, bool depthwise, bool with_bias) {
    Initializer init = initializer;
    return Convolution(init, kSequenceWidth, kernel, depthwise, with_bias, 1.0);
  };
  return {
      .op = "Convolution",
      .examples = {example("full, causal", layer(3, false, true), true),
                   example("full, centred, an even kernel, no bias", layer(2, false, false), false),
                   example("full, centred, with padding", layer(3, false, true), false, true),
                   example("depthwise, causal, with padding", layer(3, true, true), true, true),
                   example("depthwise, centred, no bias", layer(3, true, false), false)}};
}

OpExamples recurrence_layer(const Initializer& initializer) {
  const auto layer = [&](Cell cell, bool both_directions, bool with_bias) {
    Initializer init = initializer;
    return Recurrence(init, kSequenceWidth, cell, both_directions, with_bias, 1.0);
  };
  return {.op = "Recurrence",
          .examples = {example("rnn", layer(Cell::kRnn, false, true), true),
                       example("rnn in both directions, with padding, no bias",
                               layer(Cell::kRnn, true, false), false, true),
                       example("lstm", layer(Cell::kLstm, false, true), true),
                       example("lstm in both directions, with padding",
                               layer(Cell::kLstm, true, true), false, true)}};
}

OpExamples learned_layer(Initializer init) {
  const LearnedMixing layer(init, kSequenceLength + 1);
  return {.op = "LearnedMixing",
          .examples = {example("of both sides", layer, false), example("causal", layer, true),
                       example("with padding", layer, false, true),
                       example("causal, with padding", layer, true, true)}};
}

OpExamples uniform_layer() {
  const UniformMixing layer;
  return {.op = "UniformMixing",
          .examples = {example("of both sides", layer, false), example("causal", layer, true),
                       example("causal, with padding", layer, true, true)}};
}

}  // namespace

std::vector<OpExamples> mixer_examples(const Initializer& init) {
  return {convolution_layer(init), recurrence_layer(init), learned_layer(init), uniform_layer()};
}

}  // namespace qkv
