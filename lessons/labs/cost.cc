// The table of costs: operations counted, parameters, steps one after the other, milliseconds.
#include "absl/strings/str_format.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_log.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/kit.h"
#include "models/mixer.h"

namespace qkv {
namespace {

// What the table calls a layer: no more than mixes the tokens.   x [1, n, d] -> [1, n, d]
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

Series flops_series(const LabContext& lab, const char* name, const Layer& layer) {
  return series_by(name, lab.numbers("n"), std::identity(),
                   [&](double n) { return flops_of(layer, std::llround(n), lab.integer("d")); });
}

Section table_section(const LabContext& lab) {
  const int64_t d = lab.integer("d"), n = lab.integer("n");
  const auto convolve = [](int64_t width) { return convolution_of(width, kTaps); };
  const auto attend = [&](int64_t width) {
    return lab.is_control() ? whole_attention(width) : attention_alone();
  };
  Section section = make_section("cost.table");
  const auto judge = [&](const std::string& name, const auto& make_layer, double n_power,
                         double d_power) {
    const Powers powers = powers_of(lab, make_layer);
    for (const Finding& finding : {exact(name + ": power of n", n_power, powers.n, 1e-9),
                                   exact(name + ": power of d", d_power, powers.d, 1e-9)}) {
      section.add(name.ends_with("maps") ? beyond(finding) : finding);
    }
  };
  judge("convolution", convolve, 1, 2);
  judge("recurrence", recurrence_of, 1, 2);
  judge("attention", attend, 2, 1);
  judge("attention, all its maps", whole_attention, 2, 1);
  section.add(equal("convolution: 5 taps over 1", 5,
                    flops_of(convolution_of(d, 5), n, d) / flops_of(convolution_of(d, 1), n, d)));
  section.add(equal("n = d: attention over recurrence", 1,
                    flops_of(attend(d), d, d) / flops_of(recurrence_of(d), d, d)));
  const Mixer lstm = make("recurrence", d, Cell::kLstm);
  section.add(
      equal("n = 2.5 d, all maps: attention over lstm", 1,
            flops_of(whole_attention(d), 5 * d / 2, d) / flops_of(whole(lstm), 5 * d / 2, d)));
  section.show(line_chart(absl::StrCat("Operations, d = ", d), log_axis("n"),
                          log_axis("operations"),
                          {flops_series(lab, "attention", attention_alone()),
                           flops_series(lab, "attention, all its maps", whole_attention(d)),
                           flops_series(lab, "recurrence", recurrence_of(d)),
                           flops_series(lab, "convolution, 3 taps", convolve(d))}));
  return section;
}

template <class Module>
double count_of(const Module& module) {
  return static_cast<double>(parameter_count(parameters(module)));
}

Section parameters_section(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  const auto square = static_cast<double>(d * d);
  const auto scan = [&](Cell cell) {  // without the output map that a block adds to it
    return count_of(
        std::get<Child<"recurrence", Recurrence>>(make("recurrence", d, cell).kind).forward);
  };
  const double attention = count_of(make("attention", d));
  const double convolution = count_of(make("convolution", d));
  const double rnn = scan(Cell::kRnn), lstm = scan(Cell::kLstm);
  const auto fewer = [&](const char* what, double other) {
    return found(absl::StrCat("attention needs fewer than ", what), "yes",
                 attention < other ? "yes" : "no", attention < other);
  };
  return make_section("cost.parameters",
                      {equal("attention: parameters / d²", 4, attention / square),
                       equal("lstm: parameters / d²", 8, lstm / square),
                       equal("rnn: parameters / d²", 2, rnn / square),
                       equal("convolution of 3 taps: parameters / d²", 3, convolution / square),
                       fewer("an rnn", rnn), fewer("a convolution of 3 taps", convolution),
                       fewer("an lstm", lstm)});
}

// The formulas, op by op: h_t = tanh(x_t + W h_(t-1)), and softmax(Q Kᵀ) V.
Tensor stepwise_recurrence(const Tensor& x) {
  const Tensor weight = filled({x.dim(2), x.dim(2)});
  Tensor h = filled({1, 1, x.dim(2)});
  for (int64_t t = 0; t < x.dim(1); ++t) {
    h = tanh(slice(x, 1, t, 1) + linear(h, weight, Tensor()));
  }
  return h;
}

Tensor stepwise_attention(const Tensor& x) {
  const Tensor head = reshape(x, {1, 1, x.dim(1), x.dim(2)});
  return scaled_dot_product_attention(head, head, head, {});
}

// Milliseconds of a forward pass, the shortest of three.
double time_of(const Layer& layer, int64_t n, int64_t d, int threads) {
  const int before = kernels::num_threads();
  kernels::set_num_threads(threads);
  const Tensor x = filled({1, n, d}).detached();
  const double shortest = milliseconds_of(3, [&] { layer(x); })[0];
  kernels::set_num_threads(before);
  return shortest;
}

Table times_of(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  const Samples lengths = lab.numbers("n");
  std::vector<Text> header =
      row_by("layer, threads", lengths, [](double n) { return absl::StrCat("n = ", n); });
  header.emplace_back("power of n");
  Table table = {.title = absl::StrCat("Milliseconds of one sequence, d = ", d, ", f32"),
                 .header = std::move(header)};
  const std::pair<const char*, Layer> layers[] = {{"attention", attention_alone()},
                                                  {"attention, all its maps", whole_attention(d)},
                                                  {"recurrence", recurrence_of(d)},
                                                  {"convolution", convolution_of(d, kTaps)}};
  for (const auto& named : layers) {
    const Layer& layer = named.second;
    for (const int threads : {1, 2}) {
      const Samples times =
          values_of(lengths, [&](double n) { return time_of(layer, std::llround(n), d, threads); });
      std::vector<Text> row =
          row_by(absl::StrCat(named.first, ", ", threads), times,
                 [](double time) { return absl::StrFormat("%.3f", time); });
      row.push_back(absl::StrFormat("%.1f", growth_exponent(lengths, times)));
      table.rows.push_back(row);
    }
  }
  return table;
}

Section steps_section(const LabContext& lab) {
  const int64_t d = lab.integer("d"), n = 16;
  const auto chain = [&](const Layer& layer, int64_t length) {
    return longest_chain(layer(filled({1, length, d})));
  };
  const auto grows = [&](const Layer& layer) { return chain(layer, 4 * n) - chain(layer, n); };
  const double per_step = chain(stepwise_recurrence, 2) - chain(stepwise_recurrence, 1);
  const Tensor x = filled({1, n, d});
  const kernels::ProductLog forward;
  const Tensor y = whole_attention(d)(x);
  const double there = forward.flops();
  backward(sum(y));
  const double back = forward.flops() - there;
  const int64_t longest = lab.integers("n").back();
  const double ratio =
      time_of(recurrence_of(d), longest, d, 1) / time_of(attention_alone(), longest, d, 1);
  return make_section(
      "cost.steps",
      {equal("recurrence: steps more from n = 16 to 64", 48, grows(stepwise_recurrence) / per_step),
       equal("attention: ops more", 0, grows(stepwise_attention)),
       equal("convolution: ops more", 0, grows(convolution_of(d, kTaps))),
       equal("attention: backward operations over forward", 2, back / there),
       beyond(found(absl::StrCat("ms of recurrence over attention, n = ", longest), "above 1",
                    ratio > 1 ? "above 1" : "below 1", ratio > 1))},
      {times_of(lab)});
}

std::vector<Section> run(const LabContext& lab) {
  return {table_section(lab), parameters_section(lab), steps_section(lab)};
}

}  // namespace

Lab cost_lab() { return make_lab("cost", run); }

}  // namespace qkv
