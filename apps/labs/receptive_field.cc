#include "apps/labs/kit.h"
#include "apps/labs/sections.h"

namespace qkv {
namespace {

// Layers of a convolution with k taps around the token itself until the first of n tokens hears of
// the last. The taps of layer l stand k^(l mod `cycle`) apart: with a cycle of 1 side by side.
int64_t layers_between(int64_t n, int64_t k, int64_t cycle) {
  const Tensor x = as_parameter(ones({1, n, 1}, DType::f64));
  Tensor y = x;
  for (int64_t layers = 1;; ++layers) {
    const auto apart = std::llround(std::pow(k, (layers - 1) % cycle));
    const int64_t width = (k - 1) * apart + 1;
    std::vector<double> taps(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; i += apart) taps[static_cast<size_t>(i)] = 1;
    y = depthwise_convolution(y, constant_f64({1, 1, width}, taps), Tensor(), width / 2);
    const Tensor back = backward(slice(y, 1, 0, 1), {.keep_graph = true})[x];
    if (back.to_vector().back() != 0) return layers;
  }
}

// How far the first token hears through so many layers of convolution.
double heard_through(const LabContext& lab, int64_t layers) {
  const int64_t n = lab.integer("n"), k = lab.integer("kernel");
  const Tensor x = as_parameter(ones({1, n, 1}, DType::f64));
  Tensor y = x;
  for (int64_t layer = 0; layer < layers; ++layer) {
    y = depthwise_convolution(y, ones({1, 1, k}, DType::f64), Tensor(), k / 2);
  }
  const Samples back = backward(slice(y, 1, 0, 1))[x].to_vector();
  const auto last =
      std::ranges::find_if(back.rbegin(), back.rend(), [](double g) { return g != 0; });
  return static_cast<double>(back.rend() - last - 1);
}

int64_t layers_enough(const LabContext& lab) {
  const int64_t half = (lab.integer("kernel") - 1) / 2;
  return lab.breaks("flat") ? 1 : (lab.integer("n") - 2) / half + 1;
}

// h_t = tanh(x_t + h_(t - 1)) of n tokens; nothing passes through the state of the token `cut`.
bool hears_without(int64_t n, int64_t cut) {
  const Tensor x = as_parameter(constant_f64({n, 1}, Samples(static_cast<size_t>(n), 0.1)));
  Tensor h = zeros({1, 1}, DType::f64);
  for (int64_t t = 0; t < n; ++t) {
    h = tanh(row_of(x, t) + h);
    if (t == cut) h = h.detached();
  }
  return backward(h)[x].to_vector().front() != 0;
}

}  // namespace

Text layers_text(int64_t layers) {
  return layers == 1 ? say("1 layer") : say("{0} layers", layers);
}

int64_t states_between(int64_t n) {
  int64_t states = 0;
  for (int64_t t = 0; t + 1 < n; ++t) states += hears_without(n, t) ? 0 : 1;
  return states;
}

Section stacked_section(const LabContext& lab) {
  const int64_t enough = layers_enough(lab);
  const auto far = static_cast<double>(lab.integer("n") - 1);
  Samples reach;
  for (int64_t layers = 1; layers <= enough; ++layers) {
    reach.push_back(heard_through(lab, layers));
  }
  LineChart chart = line_chart(say("Reach of stacked convolutions"), say("layers"), say("tokens"),
                               {numbered_series(say("reach"), reach)});
  chart.levels = {{say("all tokens"), far}};
  return make_section(
      "influence.stacked",
      {named("stacked", at_least(say("reach of {0} of convolution, in tokens", layers_text(enough)),
                                 far, heard_through(lab, enough))),
       beyond(named("one", at_least(say("reach of {0} of convolution, in tokens", layers_text(1)),
                                    far, heard_through(lab, 1))))},
      {chart});
}

Section local_section(const LabContext& lab) {
  const int64_t enough = layers_enough(lab);
  const int64_t one_side = (lab.integer("kernel") - 1) / 2;
  const auto half = static_cast<double>(one_side);
  const int64_t one = lab.breaks("deep") ? enough : 1;
  return make_section("influence.local",
                      {at_most(say("reach of {0} of convolution, in tokens", layers_text(1)), half,
                               heard_through(lab, one)),
                       beyond(named("stacked", at_most(say("reach of {0} of convolution, in tokens",
                                                           layers_text(enough)),
                                                       half, heard_through(lab, enough))))});
}

Section path_section(const LabContext& lab) {
  Section section = make_section("influence.path");
  const int64_t k = lab.integer("kernel");
  const std::vector<int64_t> powers = {2, 3, 4};
  Series dilated = {.name = say("dilated")}, beside = {.name = say("side by side")};
  for (const int64_t power : powers) {
    const auto n = static_cast<int64_t>(std::llround(std::pow(k, power)));
    const int64_t apart = layers_between(n, k, lab.breaks("beside") ? 1 : power);
    const int64_t close = layers_between(n, k, 1);
    section.add(equal(say("dilated: layers for n = {0}", n), 2 * power, apart));
    section.add(beyond(named(absl::StrCat("beside", power),
                             at_most(say("side by side: layers for n = {0}", n),
                                     2 * static_cast<double>(power), static_cast<double>(close)))));
    for (Series* const series : {&dilated, &beside}) series->x.push_back(static_cast<double>(n));
    dilated.y.push_back(static_cast<double>(apart));
    beside.y.push_back(static_cast<double>(close));
  }
  section.show(line_chart(say("Layers until the first token hears of the last"), log_axis("n"),
                          log_axis(say("layers")), {dilated, beside}));
  return section;
}

}  // namespace qkv
