// Attention to r tokens on each side: how many pairs there are, how long it takes, how far it sees.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
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
  const auto head = [&](const char* name) {
    return random_normal(random.derive(name), {1, 1, n, d});
  };
  const Tensor query = as_parameter(head("q"));
  Tensor scores, weights;
  const Tensor y = scaled_dot_product_attention(
      query, head("k"), head("v"), {.mask = mask_of(lab, lab.integer("r")), .scale = 0.1},
      [&](std::string_view name, const Tensor& x) {
        if (name == "scores") scores = x;
        if (name == "weights") weights = x;
      });
  const Gradients gradients = backward(y, {.cotangent = head("dO"), .keep = {scores}});
  return {.weights = reshape(weights.detached(), {n, n}),
          .dscores = reshape(gradients[scores], {n, n})};
}

// The largest |dS_ij| with |i - j| > r.
double largest_outside(const Tensor& matrix, int64_t r) {
  const std::vector<double> numbers = matrix.to_vector();
  const int64_t n = matrix.dim(0);
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    if (std::abs(i / n - i % n) <= r) continue;
    largest = std::max(largest, std::abs(numbers[static_cast<size_t>(i)]));
  }
  return largest;
}

Section pairs_section(const LabContext& lab) {
  const int64_t r = lab.integer("r");
  Section section = {
      .claims =
          {{"C138", "自注意力模型可以看作在一个线性投影空间中建立X中不同向量之间的交互关系。",
            "Self-attention relates the vectors of X to each other in a space to which they are "
            "mapped linearly."},
           {"C138",
            "上述自注意力运算的计算复杂度为O(N^2)。实践中有些问题并不需要捕捉全局结构，只依赖于"
            "局部信息，此时可以使用restricted自注意力机制，即假设当前词只与前后r个词发生联系"
            "(类似于卷积中的滑动窗口)，此时计算复杂度为O(rN)。",
            "Self-attention is O(N²). Some problems need only what is near: restricted "
            "self-attention, where a word is related to the r words before and after it, "
            "like the sliding window of a convolution, and O(r N)."}},
      .formula = "pairs = N (2 r + 1) - r (r + 1)",
      .prediction =
          "A word sees 2 r + 1, fewer at the ends: pairs grow with N and not with its "
          "square, and no gradient comes from outside the band.",
      .findings = {},
      .figures = {}};
  std::vector<double> lengths, pairs;
  for (const int64_t n : lab.integers("n")) {
    const Walk walked = walk(lab, n);
    lengths.push_back(static_cast<double>(n));
    pairs.push_back(count_not_zero(walked.weights));
    section.findings.push_back(exact(absl::StrCat("pairs of N = ", n, ", r = ", r),
                                     static_cast<double>(n * (2 * r + 1) - r * (r + 1)),
                                     pairs.back(), 0));
    section.findings.push_back(exact(absl::StrCat("N = ", n, ": largest |dS| outside the band"), 0,
                                     largest_outside(walked.dscores, r), 0));
  }
  const double exponent = fitted_exponent(lengths, pairs);
  section.findings.push_back(found("power of N by which pairs grow", "0.9 … 1.1",
                                   format_number(exponent), std::abs(exponent - 1) < 0.1));
  section.figures.push_back(heat_map_of("dS, the first N", walk(lab, lab.integer("n")).dscores));
  return section;
}

// The shortest of three, in milliseconds.
double time_of(const LabContext& lab, int64_t n, bool restricted) {
  const Tensor x = full({1, n, 4, 16}, 0.5);
  const AttentionOptions options = {
      .mask = restricted ? mask_of(lab, lab.integer("r")) : AttentionMask{}, .scale = 0.25};
  double shortest = INFINITY;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    attention(x, x, x, options);
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, passed.count());
  }
  return shortest;
}

Section time_section(const LabContext& lab) {
  Table table = {.title = "Milliseconds, 4 heads of 16 numbers, f32",
                 .header = {"N", "restricted", "all", "all / restricted"},
                 .rows = {}};
  Series near_only = {.name = "restricted"}, all = {.name = "all"};
  for (const int64_t n : lab.integers("long")) {
    const double few = time_of(lab, n, true), many = time_of(lab, n, false);
    near_only.x.push_back(static_cast<double>(n));
    near_only.y.push_back(few);
    all.x.push_back(static_cast<double>(n));
    all.y.push_back(many);
    table.rows.push_back({absl::StrCat(n), absl::StrFormat("%.2f", few),
                          absl::StrFormat("%.2f", many), absl::StrFormat("%.1f", many / few)});
  }
  const double ratio = all.y.back() / near_only.y.back();
  return {.claims = {{"C138", "此时计算复杂度为O(rN)。", "Its complexity is then O(r N)."}},
          .formula = "ms ~ r N against N²",
          .prediction = "Of long sequences the restricted form takes a fraction of the time.",
          .findings = {found(absl::StrCat("ms of all over restricted, N = ", all.x.back()),
                             "above 3", ratio > 3 ? "above 3" : "below 3", ratio > 3)},
          .figures = {table, LineChart{.title = "Time of one attention",
                                       .x_label = "N",
                                       .y_label = "ms",
                                       .log_x = true,
                                       .log_y = true,
                                       .series = {near_only, all}}}};
}

// The largest distance at which the last of `layers` blocks hears of a token: by dy_i / dx_0.
int64_t reach_of(const LabContext& lab, int64_t layers) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  ModelOptions options;
  options.num_layers = layers;
  options.d_model = options.d_ff = d;
  options.num_heads = 1;
  options.position = Position::kNone;
  options.attention.window = lab.is_control() ? 0 : lab.integer("r");
  const RandomStream random(lab.integer("seed"));
  Initializer init(random, DType::f64);
  const Stack stack(init, options, Stack::Role::kEncoder, n);
  const Tensor x = as_parameter(random_normal(random.derive("x"), {1, n, d}));
  ForwardContext context;
  const Tensor first = slice(stack(x, Tensor(), context), 1, 0, 1);  // y_0
  const Tensor pushed = random_normal(random.derive("dy"), first.shape());
  const std::vector<double> back = sum(reshape(backward(sum(first * pushed))[x], {n, d}) *
                                           random_normal(random.derive("direction"), {n, d}),
                                       -1)
                                       .to_vector();
  int64_t reach = 0;
  for (int64_t j = 0; j < n; ++j) {
    if (back[static_cast<size_t>(j)] != 0) reach = j;
  }
  return reach;
}

Section reach_section(const LabContext& lab) {
  Section section = {
      .claims = {{"C138", "即假设当前词只与前后r个词发生联系(类似于卷积中的滑动窗口)",
                  "A word is related only to the r words before and after it, as in a "
                  "convolution."}},
      .formula = "reach = L r",
      .prediction = "L layers see L r tokens far, exactly; as convolutions of 2 r + 1 taps.",
      .findings = {}};
  for (int64_t layers = 1; layers <= lab.integer("layers"); ++layers) {
    const int64_t expected = std::min(layers * lab.integer("r"), lab.integer("n") - 1);
    section.findings.push_back(exact(
        absl::StrCat("tokens that ", layers, layers > 1 ? " layers see far" : " layer sees far"),
        static_cast<double>(expected), static_cast<double>(reach_of(lab, layers)), 0));
  }
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {pairs_section(lab), time_section(lab), reach_section(lab)};
}

}  // namespace

Lab restricted_lab() {
  return {.name = "restricted",
          .question = "What does attention to r tokens on each side save, and what does it cost?",
          .control = "every token sees all",
          .duration = "1 s",
          .measures_time = true,
          .options = {{"n", "16,64,256,512", "tokens, of counts", 16, 1024, Numbers::kWhole, 2,
                       kLongestList},
                      {"long", "256,1024,4096", "tokens, of times", 16, 8192, Numbers::kWhole, 1,
                       kLongestList},
                      {"r", "4", "tokens that are seen on each side", 1, 15},
                      {"d", "8", "numbers of a token", 1, 64},
                      {"layers", "4", "at most", 1, 8},
                      seed_option("of tokens and layers")},
          .run = run};
}

}  // namespace qkv
