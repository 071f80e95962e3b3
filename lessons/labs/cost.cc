// The table of costs: operations counted, parameters, steps one after the other, milliseconds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_log.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
#include "models/mixer.h"

namespace qkv {
namespace {

// What the table calls a layer: no more than mixes the tokens.   x [1, n, d] -> [1, n, d]
using Layer = std::function<Tensor(const Tensor& x)>;

constexpr int64_t kTaps = 3;

Tensor filled(const Shape& shape) { return parameter(Array::full(shape, DType::f32, 0.01)); }

Layer attention_alone() {
  return [](const Tensor& x) {
    const Tensor heads = reshape(x, {1, x.dim(1), 1, x.dim(2)});
    return reshape(attention(heads, heads, heads), {1, x.dim(1), x.dim(2)});
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
Mixer make(MixerKind kind, int64_t d, Cell cell = Cell::kRnn) {
  ModelOptions options;
  options.d_model = d;
  options.num_heads = 1;
  options.mixer = kind;
  options.cell = cell;
  options.kernel = kTaps;
  options.bias = false;
  Initializer init(RandomStream(1), DType::f32);
  return make_mixer(init, options, /*max_length=*/1, /*causal=*/true, 0.02);
}

Layer whole(const Mixer& mixer) {
  return [mixer](const Tensor& x) {
    ForwardContext context;
    return mixer(x, {.causal = true}, context);
  };
}

double flops_of(const Layer& layer, int64_t n, int64_t d) {
  const kernels::ProductLog log;
  layer(filled({1, n, d}));
  return log.flops();
}

// The powers by which the operations grow with n, and with d.
struct Powers {
  double n = 0, d = 0;
};

Powers powers_of(const LabContext& lab, const std::function<Layer(int64_t d)>& make_layer) {
  constexpr double kWidths[] = {32, 64, 128};
  const std::vector<double> lengths = lab.numbers("n");
  const int64_t width = lab.integer("d"), length = lab.integer("n");
  std::vector<double> by_length, by_width;
  for (const double n : lengths) {
    by_length.push_back(flops_of(make_layer(width), std::llround(n), width));
  }
  for (const double d : kWidths) {
    by_width.push_back(flops_of(make_layer(std::llround(d)), length, std::llround(d)));
  }
  return {.n = fitted_exponent(lengths, by_length), .d = fitted_exponent(kWidths, by_width)};
}

Layer whole_attention(int64_t d) { return whole(make(MixerKind::kAttention, d)); }

Series flops_series(const LabContext& lab, const char* name, const Layer& layer) {
  Series series = {.name = name, .x = lab.numbers("n")};
  for (const double n : series.x) {
    series.y.push_back(flops_of(layer, std::llround(n), lab.integer("d")));
  }
  return series;
}

Section table_section(const LabContext& lab) {
  const int64_t d = lab.integer("d"), n = lab.integer("n");
  const auto convolve = [](int64_t width) { return convolution_of(width, kTaps); };
  const auto attend = [&](int64_t width) {
    return lab.is_control() ? whole_attention(width) : attention_alone();
  };
  Section section = {
      .claims = {{"C80", "Convolutional: O(k·n·d^2)", "Convolution takes O(k n d²)."},
                 {"C81", "Recurrent: O(n·d^2)", "Recurrence takes O(n d²)."},
                 {"C82", "Self-Attention: O(n^2·d)", "Self-attention takes O(n² d)."}},
      .formula = "2 k n d²,   4 n d²,   4 n² d",
      .prediction =
          "Multiplications and additions, counted, grow by these powers of n and d; "
          "attention and recurrence cost the same at n = d.",
      .findings = {},
      .figures = {},
      .condition = "the projections are left out",
      .correction =
          "A layer has maps of queries, keys, values and results as well: 8 n d² + "
          "4 n² d. Up to n = 2 d it is they that cost most."};
  const auto judge = [&](const char* name, const Powers& powers, double of_n, double of_d) {
    return std::vector<Finding>{exact(absl::StrCat(name, ": power of n"), of_n, powers.n, 1e-9),
                                exact(absl::StrCat(name, ": power of d"), of_d, powers.d, 1e-9)};
  };
  for (auto& findings : {judge("convolution", powers_of(lab, convolve), 1, 2),
                         judge("recurrence", powers_of(lab, recurrence_of), 1, 2),
                         judge("attention", powers_of(lab, attend), 2, 1)}) {
    section.findings.insert(section.findings.end(), findings.begin(), findings.end());
  }
  for (const Finding& finding :
       judge("attention, all its maps", powers_of(lab, whole_attention), 2, 1)) {
    section.findings.push_back(beyond(finding));
  }
  const double of_one = flops_of(convolution_of(d, 1), n, d);
  section.findings.push_back(
      exact("convolution: 5 taps over 1", 5, flops_of(convolution_of(d, 5), n, d) / of_one, 0));
  section.findings.push_back(exact("n = d: attention over recurrence", 1,
                                   flops_of(attend(d), d, d) / flops_of(recurrence_of(d), d, d),
                                   0));
  const Mixer lstm = make(MixerKind::kRecurrence, d, Cell::kLstm);
  section.findings.push_back(
      exact("n = 2.5 d, all maps: attention over lstm", 1,
            flops_of(whole_attention(d), 5 * d / 2, d) / flops_of(whole(lstm), 5 * d / 2, d), 0));
  section.figures.push_back(
      LineChart{.title = absl::StrCat("Operations, d = ", d),
                .x_label = "n",
                .y_label = "operations",
                .log_x = true,
                .log_y = true,
                .series = {flops_series(lab, "attention", attention_alone()),
                           flops_series(lab, "attention, all its maps", whole_attention(d)),
                           flops_series(lab, "recurrence", recurrence_of(d)),
                           flops_series(lab, "convolution, 3 taps", convolve(d))}});
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
        std::get<Child<"recurrence", Recurrence>>(make(MixerKind::kRecurrence, d, cell).kind)
            .forward);
  };
  const double attention = count_of(make(MixerKind::kAttention, d));
  const double convolution = count_of(make(MixerKind::kConvolution, d));
  const double rnn = scan(Cell::kRnn), lstm = scan(Cell::kLstm);
  const auto fewer = [&](const char* what, double other) {
    return found(absl::StrCat("attention needs fewer than ", what), "yes",
                 attention < other ? "yes" : "no", attention < other);
  };
  return {.claims = {{"A43", "需要学习的参数量更少", "It has fewer parameters to learn."}},
          .formula = "4 d²,   k d²,   2 d²,   8 d²",
          .prediction =
              "Attention has four maps; a convolution as many as taps, an rnn two, an "
              "lstm eight.",
          .findings = {exact("attention: parameters / d²", 4, attention / square, 0),
                       exact("lstm: parameters / d²", 8, lstm / square, 0),
                       exact("rnn: parameters / d²", 2, rnn / square, 0),
                       exact("convolution of 3 taps: parameters / d²", 3, convolution / square, 0),
                       fewer("an lstm", lstm), beyond(fewer("an rnn", rnn)),
                       beyond(fewer("a convolution of 3 taps", convolution))},
          .condition = "it is compared with an LSTM",
          .correction = "Fewer than an LSTM, and twice as many as a plain RNN."};
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
  double shortest = INFINITY;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    layer(x);
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, passed.count());
  }
  kernels::set_num_threads(before);
  return shortest;
}

Table times_of(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  const std::vector<double> lengths = lab.numbers("n");
  Table table = {.title = absl::StrCat("Milliseconds of one sequence, d = ", d, ", f32"),
                 .header = {"layer, threads"},
                 .rows = {}};
  for (const double n : lengths) table.header.push_back(absl::StrCat("n = ", n));
  table.header.emplace_back("power of n");
  const std::pair<const char*, Layer> layers[] = {{"attention", attention_alone()},
                                                  {"attention, all its maps", whole_attention(d)},
                                                  {"recurrence", recurrence_of(d)},
                                                  {"convolution", convolution_of(d, kTaps)}};
  for (const auto& [name, layer] : layers) {
    for (const int threads : {1, 2}) {
      std::vector<double> times;
      std::vector<std::string> row = {absl::StrCat(name, ", ", threads)};
      for (const double n : lengths) {
        times.push_back(time_of(layer, std::llround(n), d, threads));
        row.push_back(absl::StrFormat("%.3f", times.back()));
      }
      row.push_back(absl::StrFormat("%.1f", fitted_exponent(lengths, times)));
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
  return {.claims = {{"C58", "对于输入序列是顺序处理的，速度较慢，不能并行(parallel)实现",
                      "The input is read in order, which is slow and cannot be done in "
                      "parallel."},
                     {"C72",
                      "循环神经网络是递归计算的，无法并行；卷积神经网络的不同卷积核之间可以并行"
                      "计算；自注意力机制的计算是高度并行的，很容易被GPU等加速。",
                      "Recurrence is recursive and not parallel; kernels of a convolution can be "
                      "computed in parallel; self-attention is highly parallel."},
                     {"A44", "可以并行计算", "It can be computed in parallel."},
                     {"C135", "提高并行计算效率;", "It makes better use of parallel machines."}},
          .formula = "sequential operations: O(1),   O(n),   O(1)",
          .prediction =
              "The longest chain of operations that wait for each other grows by one "
              "step for each token of a recurrence, and not at all for the others.",
          .findings = {exact("recurrence: steps more from n = 16 to 64", 48,
                             grows(stepwise_recurrence) / per_step, 0),
                       exact("attention: ops more", 0, grows(stepwise_attention), 0),
                       exact("convolution: ops more", 0, grows(convolution_of(d, kTaps)), 0),
                       exact("attention: backward operations over forward", 2, back / there, 0),
                       beyond(found(absl::StrCat("ms of recurrence over attention, n = ", longest),
                                    "above 1", ratio > 1 ? "above 1" : "below 1", ratio > 1))},
          .figures = {times_of(lab)},
          .condition = "steps are counted, or there is a processor for each token",
          .correction =
              "A step for each token, but n / d times fewer operations: on one or two "
              "cores a recurrence is the faster one where n is far above d."};
}

std::vector<Section> run(const LabContext& lab) {
  return {table_section(lab), parameters_section(lab), steps_section(lab)};
}

}  // namespace

Lab cost_lab() {
  return {.name = "cost",
          .question = "What do attention, convolution and recurrence cost?",
          .control = "attention is counted with all its maps",
          .duration = "1 s",
          .measures_time = true,
          .options = {{"n", "32,128,512,2048", "tokens", 1, 4096, Numbers::kWhole, 2, kLongestList},
                      {"d", "64", "numbers of a token", 2, 256, Numbers::kMultiples}},
          .run = run};
}

}  // namespace qkv
