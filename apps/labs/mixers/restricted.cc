// Attention to r tokens on each side: how many pairs there are, how long it takes, how far it sees.
#include "absl/strings/str_format.h"
#include "apps/labs/kit/lab_kit.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "models/stack.h"

namespace qkv {
namespace {

// The op's window counts the token itself: window - 1 tokens on each side.
AttentionMask mask_of(const LabContext& lab, int64_t r) {
  return {.window = lab.is_control() ? 0 : r + 1};
}

// The weights and dS of one head of random words, [N, N] each.
struct Walk {
  Tensor weights, dscores;
};

Walk walk(const LabContext& lab, int64_t n, int64_t r) {
  const RandomStream random(lab.integer("seed"));
  const int64_t d = lab.integer("d");
  const auto head = [&](const char* name) { return random_normal(random, name, {1, 1, n, d}); };
  const Tensor query = as_parameter(head("q"));
  const Traced y =
      attend_in_steps(query, head("k"), head("v"), {.mask = mask_of(lab, r), .scale = 0.1});
  const Tensor &scores = y.trace["scores"], &weights = y.trace["weights"];
  const Gradients gradients = backward(y.result, {.cotangent = head("dO"), .keep = {scores}});
  return {.weights = reshape(weights.detached(), {n, n}),
          .dscores = reshape(gradients[scores], {n, n})};
}

Section projected_section(const LabContext& lab) {
  const RandomStream random(lab.integer("seed"));
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto draw = [&](const char* name, int64_t rows) {
    return random_normal(random, name, {rows, d});
  };
  const Tensor x = draw("x", n), w_query = draw("W_q", d), w_key = draw("W_k", d);
  const auto mapped = [&](const Tensor& weight) {
    const Tensor y = matmul(x, weight);
    return lab.breaks("bent") ? relu(y) : y;
  };
  const Tensor scores = products_of_rows(mapped(w_query), mapped(w_key));
  const Tensor form = products_of_rows(matmul(x, products_of_rows(w_query, w_key)), x);
  return make_section("restricted.projected",
                      {same(say("scores, and x_iᵀ W_q W_kᵀ x_j"),
                            largest_difference(scores, form) / largest_of(scores))});
}

struct Pairs {
  int64_t n;
  double count;
};

Section pairs_section(const LabContext& lab) {
  double from_formula = 0, over_rn = 0, outside = 0;
  LineChart chart = line_chart(say("Pairs of words"), log_axis("N"), log_axis(say("pairs")));
  HeatMaps maps = {.title = say("dS of {0} words", lab.integer("n"))};
  for (const int64_t r : lab.integers("r")) {
    const auto counted = each_of(lab.integers("n"), [&](int64_t n) {
      const Walk walked = walk(lab, n, r);
      const double pairs = count_not_zero(walked.weights);
      const auto expected = static_cast<double>(n * (2 * r + 1) - r * (r + 1));
      from_formula = std::max(from_formula, std::abs(pairs - expected));
      over_rn = std::max(over_rn, pairs / static_cast<double>(r * n));
      outside = std::max(outside, largest_outside(walked.dscores, r));
      return Pairs{n, pairs};
    });
    chart.series.push_back(series_by(say("r = {0}", r), counted, &Pairs::n, &Pairs::count));
    HeatMap map = heat_map_of(say("r = {0}", r), walk(lab, lab.integer("n"), r).dscores);
    map.row_axis = say("queries");
    map.column_axis = say("keys");
    maps.maps.push_back(std::move(map));
  }
  chart.series.push_back(series_by(say("all"), lab.integers("n"), std::identity(),
                                   [](int64_t n) { return static_cast<double>(n * n); }));
  return make_section(
      "restricted.pairs",
      {equal(say("pairs, of all N and r: largest difference from the formula"), 0, from_formula),
       at_most(say("pairs over r N, the largest"), 3, over_rn),
       equal(say("largest |dS| outside the band"), 0, outside)},
      {chart, maps});
}

// The shortest of three, in milliseconds; r = 0: of all pairs.
double time_of(const LabContext& lab, int64_t n, int64_t r) {
  const Tensor x = full({1, n, 4, 16}, 0.5);
  const AttentionOptions options = {.mask = r > 0 ? mask_of(lab, r) : AttentionMask{},
                                    .scale = 0.25};
  return milliseconds_of(3, [&] { attention(x, x, x, options); })[0];
}

Section time_section(const LabContext& lab) {
  struct Times {
    Text name;
    Samples by_length;
  };
  const Samples lengths = lab.numbers("long");
  const auto measure = [&](const Text& name, int64_t r) {
    return Times{name,
                 values_of(lengths, [&](double n) { return time_of(lab, std::llround(n), r); })};
  };
  std::vector<Times> times =
      each_of(lab.integers("r"), [&](int64_t r) { return measure(say("r = {0}", r), r); });
  // In the control every token sees all: it is the same measurement.
  times.push_back(lab.is_control() ? Times{say("all"), times.back().by_length}
                                   : measure(say("all"), 0));
  const Table table = table_by(
      say("Milliseconds, 4 heads of 16 numbers, f32"),
      row_by(say("positions seen"), lengths, [](double n) { return absl::StrCat("N = ", n); }),
      times, [](const Times& each) {
        return row_by(each.name, each.by_length,
                      [](double ms) { return absl::StrFormat("%.2f", ms); });
      });
  const double ratio = times.back().by_length.back() / times[times.size() - 2].by_length.back();
  return make_section(
      "restricted.time",
      {found(say("time of all over that of r = {0}, N = {1}", lab.integers("r").back(),
                 lengths.back()),
             say("above 1"), ratio > 1 ? say("above 1") : say("not above 1"), ratio > 1)},
      {line_chart(say("Time of one attention"), log_axis("N"), log_axis(say("milliseconds")),
                  each_of(times,
                          [&](const Times& each) {
                            return Series{.name = each.name, .x = lengths, .y = each.by_length};
                          })),
       table});
}

// The largest distance at which the first word, after `layers` blocks, depends on another: by
// dy_0 / dx_j.
int64_t reach_of(const LabContext& lab, int64_t n, int64_t r, int64_t layers) {
  const int64_t d = lab.integer("d");
  const ModelOptions options = {.num_layers = layers,
                                .d_model = d,
                                .num_heads = 1,
                                .d_ff = d,
                                .position = Position::kNone,
                                .attention = {.window = lab.is_control() ? 0 : r}};
  const RandomStream random(lab.integer("seed"));
  Initializer init(random, DType::f64);
  const Stack stack(init, options, Stack::Role::kEncoder, n);
  const Tensor x = as_parameter(random_normal(random, "x", {1, n, d}));
  const Tensor first = slice(run_module(stack, x, Tensor()), 1, 0, 1);  // y_0
  const Tensor pushed = random_normal(random, "dy", first.shape());
  const Samples back = sum(reshape(backward(sum(first * pushed))[x], {n, d}) *
                               random_normal(random, "direction", {n, d}),
                           -1)
                           .to_vector();
  const auto last = std::find_if(back.rbegin(), back.rend(), [](double g) { return g != 0; });
  return back.rend() - last - 1;
}

Section reach_section(const LabContext& lab) {
  Section section = make_section("restricted.reach");
  const int64_t n = lab.integers("n")[1], most = lab.integer("layers");
  LineChart chart = line_chart(say("Words in reach of the first"), say("layers"), say("words"));
  for (const int64_t r : lab.integers("r")) {
    Samples reach;
    double difference = 0;
    for (int64_t layers = 1; layers <= most; ++layers) {
      reach.push_back(static_cast<double>(reach_of(lab, n, r, layers)));
      const auto expected = static_cast<double>(std::min(layers * r, n - 1));
      difference = std::max(difference, std::abs(reach.back() - expected));
    }
    section.add(
        equal(say("r = {0}, 1 to {1} layers: largest difference of the reach from L r", r, most), 0,
              difference));
    chart.series.push_back(numbered_series(say("r = {0}", r), reach));
  }
  section.show(chart);
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {projected_section(lab), pairs_section(lab), time_section(lab), reach_section(lab)};
}

}  // namespace

Lab restricted_lab() { return make_lab("restricted", run); }

}  // namespace qkv
