// The table of costs: operations counted, parameters, milliseconds.
#include "apps/labs/kit/lab_kit.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/product_log.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

// A layer of the table: it only mixes the tokens.   x [1, n, d] -> [1, n, d]
using Layer = std::function<Tensor(const Tensor& x)>;

constexpr int64_t kTaps = 3;

Tensor filled(const Shape& shape) { return parameter(Array::full(shape, DType::f32, 0.01)); }

Layer attention_alone() {
  return [](const Tensor& x) {
    const Tensor head = one_head(x);
    return reshape(attention(head, head, head), x.shape());
  };
}

Layer convolution_of(int64_t d, int64_t taps) {
  const Tensor weight = filled({d, d, taps});
  return [=](const Tensor& x) { return convolution(x, weight, Tensor(), taps / 2); };
}

Layer recurrence_of(int64_t d) {
  const Tensor input = filled({d, d}), state = filled({d, d});
  return [=](const Tensor& x) { return rnn(linear(x, input, Tensor()), state); };
}

// As models have it, with all its maps.
Mixer make(const std::string& kind, int64_t d, Cell cell = Cell::kRnn) {
  Initializer init(RandomStream(1), DType::f32);
  return make_mixer(
      init,
      {.d_model = d, .mixer = kind, .num_heads = 1, .kernel = kTaps, .cell = cell, .bias = false},
      {.max_length = 1, .causal = true, .residual_deviation = 0.02});
}

Layer whole(const Mixer& mixer) {
  return [mixer](const Tensor& x) { return run_module(mixer, x, AttentionMask{.causal = true}); };
}

double flops_of(const Layer& layer, int64_t n, int64_t d) {
  const kernels::ProductLog log;
  layer(filled({1, n, d}));
  return log.flops();
}

struct Powers {
  double n, d;  // by which the operations grow with n, and with d
};

Powers powers_of(const LabContext& lab, const std::function<Layer(int64_t d)>& make_layer) {
  const Samples widths = {32, 64, 128};
  const Samples lengths = lab.numbers("n");
  const int64_t width = lab.integer("d"), length = lab.integer("n");
  const Samples by_length = values_of(
      lengths, [&](double n) { return flops_of(make_layer(width), std::llround(n), width); });
  const Samples by_width = values_of(widths, [&](double d) {
    return flops_of(make_layer(std::llround(d)), length, std::llround(d));
  });
  return {.n = growth_exponent(lengths, by_length), .d = growth_exponent(widths, by_width)};
}

Layer whole_attention(int64_t d) { return whole(make("attention", d)); }

Series flops_series(const LabContext& lab, const Text& name, const Layer& layer) {
  return series_by(name, lab.numbers("n"), std::identity(),
                   [&](double n) { return flops_of(layer, std::llround(n), lab.integer("d")); });
}

Section table_section(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  const auto attend = [&](int64_t width) {
    return lab.is_control() ? whole_attention(width) : attention_alone();
  };
  Section section = make_section("cost.table");
  const Powers powers = powers_of(lab, attend);
  section.add(exact(say("{0}: power of n", say("attention")), 2, powers.n, 1e-9));
  section.add(exact(say("{0}: power of d", say("attention")), 1, powers.d, 1e-9));
  section.add(equal(say("n = d: attention over recurrence"), 1,
                    flops_of(attend(d), d, d) / flops_of(recurrence_of(d), d, d)));
  add_map(section, "map",
          {.title = say("A layer's maps cost no more than its attention"),
           .x_name = "n",
           .y_name = "d",
           .x = {16, 32, 128, 512},
           .y = {16, 64, 256},
           .at = [](double x, double y) {
             const int64_t tokens = std::llround(x), width = std::llround(y);
             return at_most("", 2,
                            flops_of(whole_attention(width), tokens, width) /
                                flops_of(attention_alone(), tokens, width));
           }});
  section.show(line_chart(
      say("Multiplications and additions, d = {0}", d), log_axis("n"), log_axis(say("operations")),
      {flops_series(lab, say("attention"), attention_alone()),
       flops_series(lab, say("attention with all its maps"), whole_attention(d)),
       flops_series(lab, say("recurrence"), recurrence_of(d)),
       flops_series(lab, say("convolution of {0} taps", kTaps), convolution_of(d, kTaps))}));
  return section;
}

Section parameters_section(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  const auto squares = [&](const auto& module) {
    return static_cast<double>(parameter_count(parameters(module))) / static_cast<double>(d * d);
  };
  const auto scan = [&](Cell cell) {  // without the output map that a block adds to it
    const Mixer mixer = make("recurrence", d, cell);
    return squares(std::get<NotedChild<"recurrence", Recurrence>>(mixer.kind).forward);
  };
  const double attention = lab.breaks("maps") ? 0 : squares(make("attention", d));
  const double convolution = squares(make("convolution", d));
  const double rnn = scan(Cell::kRnn), lstm = scan(Cell::kLstm);
  const auto fewer = [&](const Text& other, double count) {
    return below(say("parameters of attention over those of {0}", other), 1, attention / count);
  };
  const Bars bars = {
      .title = say("Parameters over d², without biases"),
      .bars = {say("attention"), "RNN", say("convolution of {0} taps", kTaps), "LSTM"},
      .parts = {say("parameters / d²")},
      .shares = {{attention}, {rnn}, {convolution}, {lstm}}};
  return make_section(
      "cost.parameters",
      {named("rnn", fewer(say("an RNN"), rnn)),
       named("convolution", fewer(say("a convolution of {0} taps", kTaps), convolution)),
       beyond(named("lstm", fewer(say("an LSTM"), lstm)))},
      {bars});
}

// Milliseconds of a forward pass of sequences x on one core, the shortest of three.
double time_of(const Layer& layer, const Shape& x) {
  const int before = kernels::num_threads();
  kernels::set_num_threads(1);
  const Tensor filled_x = filled(x).detached();
  const double shortest = milliseconds_of(3, [&] { layer(filled_x); })[0];
  kernels::set_num_threads(before);
  return shortest;
}

Finding above_one(const Text& what, double number) {
  const Text measured = number > 1 ? say("above 1") : say("not above 1");
  return found(what, say("above 1"), measured, number > 1);
}

Section slow_section(const LabContext& lab) {
  const int64_t d = lab.integer("d"), longest = lab.integers("n").back();
  const Tensor state = filled({d, d});
  const Layer scan = [&](const Tensor& x) { return rnn(x, state); };
  const double waiting = time_of(scan, {1, longest, d});
  const double alone = lab.breaks("alone") ? waiting : time_of(scan, {longest, 1, d});
  const double ratio = waiting / alone;
  const double beside =
      time_of(recurrence_of(d), {1, longest, d}) / time_of(attention_alone(), {1, longest, d});
  Section section = make_section(
      "cost.slow",
      {above_one(say("time of {0} tokens one after the other, over that of as many alone", longest),
                 ratio),
       beyond(named("attention",
                    above_one(say("time of a recurrence over that of attention, n = {0}", longest),
                              beside)))});
  add_map(section, "map",
          {.title = say("A recurrence needs no fewer operations than attention"),
           .x_name = "n",
           .y_name = "d",
           .x = {16, 64, 256, 1024},
           .y = {16, 64, 256},
           .at = [](double n, double width) {
             const int64_t tokens = std::llround(n), numbers = std::llround(width);
             return at_most("", flops_of(recurrence_of(numbers), tokens, numbers),
                            flops_of(attention_alone(), tokens, numbers));
           }});
  return section;
}

// The pairs of words of which neither is more than r away from the other, counted in the weights.
double pairs_within(int64_t n, int64_t r) {
  const Tensor even = ones({1, n, 1, n}, DType::f64), each = reshape(identity(n), even.shape());
  return count_not_zero(attention(even, even, each, {.mask = {.window = r + 1}}));
}

Section window_section(const LabContext& lab) {
  const Samples lengths = {64, 128, 256}, reaches = {8, 16, 32};
  const auto pairs = [&](double n, double r) {
    return pairs_within(std::llround(n), std::llround(lab.breaks("all") ? n : r));
  };
  const double by_length = growth_exponent(
      lengths, values_of(lengths, [&](double n) { return pairs(n, reaches.front()); }));
  const double by_reach = growth_exponent(
      reaches, values_of(reaches, [&](double r) { return pairs(lengths.back(), r); }));
  Section section =
      make_section("cost.window", {near(say("pairs of words: power of N"), 1, by_length, 0.1),
                                   near(say("pairs of words: power of r"), 1, by_reach, 0.1)});
  add_map(section, "map",
          {.title = say("The pairs are N (2 r + 1), to a tenth"),
           .x_name = "r",
           .y_name = "N",
           .x = {2, 8, 32, 128},
           .y = {32, 64, 128, 256},
           .at = [](double r, double n) {
             return near("", n * (2 * r + 1), pairs_within(std::llround(n), std::llround(r)), 0.1);
           }});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {table_section(lab), parameters_section(lab), slow_section(lab), window_section(lab)};
}

}  // namespace

Lab cost_lab() { return make_lab("cost", run); }

}  // namespace qkv
