// Attention to r tokens on each side: how many pairs there are, how long it takes, how far it sees.
#include "absl/strings/str_format.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/kit.h"
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

Walk walk(const LabContext& lab, int64_t n) {
  const RandomStream random(lab.integer("seed"));
  const int64_t d = lab.integer("d");
  const auto head = [&](const char* name) { return random_normal(random, name, {1, 1, n, d}); };
  const Tensor query = as_parameter(head("q"));
  const Attended y = attend_in_steps(query, head("k"), head("v"),
                                     {.mask = mask_of(lab, lab.integer("r")), .scale = 0.1});
  const Tensor &scores = y.steps.at("scores"), &weights = y.steps.at("weights");
  const Gradients gradients = backward(y.result, {.cotangent = head("dO"), .keep = {scores}});
  return {.weights = reshape(weights.detached(), {n, n}),
          .dscores = reshape(gradients[scores], {n, n})};
}

Section pairs_section(const LabContext& lab) {
  const int64_t r = lab.integer("r");
  Section section = make_section("restricted.pairs");
  Samples lengths, pairs;
  for (const int64_t n : lab.integers("n")) {
    const Walk walked = walk(lab, n);
    lengths.push_back(static_cast<double>(n));
    pairs.push_back(count_not_zero(walked.weights));
    section.add(equal(absl::StrCat("pairs of N = ", n, ", r = ", r), n * (2 * r + 1) - r * (r + 1),
                      pairs.back()));
    section.add(equal(absl::StrCat("N = ", n, ": largest |dS| outside the band"), 0,
                      largest_outside(walked.dscores, r)));
  }
  section.add(between("power of N by which pairs grow", 0.9, 1.1, growth_exponent(lengths, pairs)));
  section.show(heat_map_of("dS, the first N", walk(lab, lab.integer("n")).dscores));
  return section;
}

// The shortest of three, in milliseconds.
double time_of(const LabContext& lab, int64_t n, bool restricted) {
  const Tensor x = full({1, n, 4, 16}, 0.5);
  const AttentionOptions options = {
      .mask = restricted ? mask_of(lab, lab.integer("r")) : AttentionMask{}, .scale = 0.25};
  return milliseconds_of(3, [&] { attention(x, x, x, options); })[0];
}

Section time_section(const LabContext& lab) {
  struct Time {
    int64_t n;
    double few, all;
  };
  const std::vector<Time> times = each_of(lab.integers("long"), [&](int64_t n) {
    return Time{n, time_of(lab, n, true), time_of(lab, n, false)};
  });
  const Table table =
      table_by("Milliseconds, 4 heads of 16 numbers, f32",
               {"N", "restricted", "all", "all / restricted"}, times, [](const Time& time) {
                 return std::vector{absl::StrCat(time.n), absl::StrFormat("%.2f", time.few),
                                    absl::StrFormat("%.2f", time.all),
                                    absl::StrFormat("%.1f", time.all / time.few)};
               });
  const double ratio = times.back().all / times.back().few;
  return make_section("restricted.time",
                      {found(absl::StrCat("ms of all over restricted, N = ", times.back().n),
                             "above 3", ratio > 3 ? "above 3" : "below 3", ratio > 3)},
                      {table, line_chart("Time of one attention", log_axis("N"), log_axis("ms"),
                                         {series_by("restricted", times, &Time::n, &Time::few),
                                          series_by("all", times, &Time::n, &Time::all)})});
}

// The largest distance at which the last of `layers` blocks hears of a token: by dy_i / dx_0.
int64_t reach_of(const LabContext& lab, int64_t layers) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const ModelOptions options = {.num_layers = layers,
                                .d_model = d,
                                .num_heads = 1,
                                .d_ff = d,
                                .position = Position::kNone,
                                .attention = {.window = lab.is_control() ? 0 : lab.integer("r")}};
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
  int64_t reach = 0;
  for (int64_t j = 0; j < n; ++j) {
    if (back[static_cast<size_t>(j)] != 0) reach = j;
  }
  return reach;
}

Section reach_section(const LabContext& lab) {
  Section section = make_section("restricted.reach");
  for (int64_t layers = 1; layers <= lab.integer("layers"); ++layers) {
    const int64_t expected = std::min(layers * lab.integer("r"), lab.integer("n") - 1);
    section.add(equal(
        absl::StrCat("tokens that ", layers, layers > 1 ? " layers see far" : " layer sees far"),
        expected, reach_of(lab, layers)));
  }
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {pairs_section(lab), time_section(lab), reach_section(lab)};
}

}  // namespace

Lab restricted_lab() { return make_lab("restricted", run); }

}  // namespace qkv
