// Attention shares out a limited resource: what one token gains the others lose.
#include "lessons/labs/kit.h"

namespace qkv {
namespace {

// How scores become weights. The control has no budget: each weight is by itself, and none is 0.
Tensor weights_of(const LabContext& lab, const Tensor& scores) {
  return lab.is_control() ? sigmoid(scores) * 0.9 + 0.1 : softmax(scores);
}

Tensor number_at(const Tensor& row, int64_t i) { return slice(row, 1, i, 1); }

// Scores of one query, [1, n], and the same with `extra` more for token 0.
Tensor raised(const Tensor& scores, double extra) {
  return concat({number_at(scores, 0) + extra, slice(scores, 1, 1, scores.dim(1) - 1)}, 1);
}

// dp_i / ds_0 of every weight.
std::vector<double> exchange(const LabContext& lab, const Tensor& numbers) {
  const Tensor scores = as_parameter(numbers);
  const Tensor weights = weights_of(lab, scores);
  Samples rates;
  for (int64_t i = 0; i < numbers.dim(1); ++i) {
    const Tensor row = backward(sum(number_at(weights, i)), {.keep_graph = true})[scores];
    rates.push_back(row.to_vector()[0]);
  }
  return rates;
}

Section budget_section(const LabContext& lab, const Tensor& scores) {
  const int64_t n = scores.dim(1);
  const Samples before = weights_of(lab, scores).to_vector();
  const Samples after = weights_of(lab, raised(scores, 1)).to_vector();
  const Samples rates = exchange(lab, scores);
  double lost = 0, law = 0;
  int64_t losers = 0;
  for (size_t i = 1; i < before.size(); ++i) {
    lost += before[i] - after[i];
    losers += after[i] < before[i] ? 1 : 0;
    law = std::max(law, std::abs(rates[i] + before[i] * before[0]));
  }
  std::vector<Series> lines;
  for (int64_t i = 0; i < n; ++i) {
    lines.push_back({.name = absl::StrCat("token ", i), .x = {}, .y = {}});
  }
  for (double extra = -4; extra <= 4; extra += 0.5) {
    const Samples weights = weights_of(lab, raised(scores, extra)).to_vector();
    for (size_t i = 0; i < lines.size(); ++i) {
      lines[i].x.push_back(extra);
      lines[i].y.push_back(weights[i]);
    }
  }
  return make_section(
      "budget.budget", {"A3-1", "A4"},
      {exact("sum of the weights", 1, sum(weights_of(lab, raised(scores, 1))).item()),
       exact("what token 0 gains, and the others lose", after[0] - before[0], lost),
       equal("tokens that lose", n - 1, losers), same("dp_i / ds_0 and -p_i p_0", law)},
      {LineChart{.title = "Weights, as the score of token 0 is raised",
                 .x_label = "added to the score",
                 .y_label = "weight",
                 .series = lines}});
}

// One query's y = Σ p_j v_j, and the gradients of a random loss.
struct Learned {
  double weight = 0;           // of token 0
  double value_gradient = 0;   // |dv_0|
  double score_gradient = 0;   // |ds_0|
  double result_gradient = 0;  // |dO|
  Tensor result;               // [1, d]
};

Learned learn(const LabContext& lab, const Tensor& numbers, const Tensor& value_numbers,
              const Tensor& pushed) {
  const Tensor scores = as_parameter(numbers), values = as_parameter(value_numbers);
  const Tensor weights = weights_of(lab, scores);
  const Tensor result = matmul(weights, values);
  const Gradients gradients = backward(result, {.cotangent = pushed});
  return {.weight = weights.to_vector()[0],
          .value_gradient = size_of(slice(gradients[values], 0, 0, 1)),
          .score_gradient = size_of(number_at(gradients[scores], 0)),
          .result_gradient = size_of(pushed),
          .result = result.detached()};
}

Section forgotten_section(const LabContext& lab, const Tensor& scores, const Tensor& values,
                          const Tensor& pushed) {
  Series value_series = {.name = "|dv_0|", .x = {}, .y = {}};
  Series score_series = {.name = "|ds_0|", .x = {}, .y = {}};
  double law = 0;
  for (double extra = -2; extra >= -12; extra -= 1) {
    const Learned learned = learn(lab, raised(scores, extra), values, pushed);
    law =
        std::max(law, std::abs(learned.value_gradient - learned.weight * learned.result_gradient));
    value_series.x.push_back(learned.weight);
    value_series.y.push_back(learned.value_gradient);
    score_series.x.push_back(learned.weight);
    score_series.y.push_back(learned.score_gradient);
  }
  const Tensor hidden = raised(scores, -std::numeric_limits<double>::infinity());
  const Learned none = learn(lab, hidden, values, pushed);
  const Tensor another =
      concat({slice(values, 0, 0, 1) + 100.0, slice(values, 0, 1, values.dim(0) - 1)}, 0);
  const double exponent = growth_exponent(score_series.x, score_series.y);
  return make_section(
      "budget.forgotten", {"B5-2", "B7-1", "B19"},
      {equal("weight of a token with the score -∞", 0, none.weight),
       equal("its |dv|", 0, none.value_gradient), equal("its |ds|", 0, none.score_gradient),
       same("result, with another value there",
            largest_difference(none.result, learn(lab, hidden, another, pushed).result), 0),
       same("|dv_0| and p_0 |dO|", law),
       found("power of the weight by which |ds_0| falls", "0.95 … 1.05", format_number(exponent),
             std::abs(exponent - 1) < 0.05)},
      {LineChart{.title = "What token 0 is taught",
                 .x_label = "weight",
                 .y_label = "gradient",
                 .log_x = true,
                 .log_y = true,
                 .series = {value_series, score_series}}});
}

std::vector<Section> run(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  const Tensor scores = random_normal(random, "scores", {1, n});
  const Tensor values = random_normal(random, "values", {n, d});
  const Tensor pushed = random_normal(random, "dO", {1, d});
  return {budget_section(lab, scores), forgotten_section(lab, scores, values, pushed)};
}

}  // namespace

Lab budget_lab() {
  return {.name = "budget",
          .question = "Does attention share out a limited resource?",
          .control = "each weight is by itself, between 0.1 and 1",
          .duration = "1 s",
          .options = {{"n", "6", "tokens", 2, 64},
                      {"d", "4", "numbers of a value", 1, 64},
                      seed_option("of scores and values")},
          .run = run};
}

}  // namespace qkv
