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
Samples exchange(const LabContext& lab, const Tensor& numbers) {
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
  const auto weights_when_raised = [&](double extra) {
    return weights_of(lab, raised(scores, extra)).to_vector();
  };
  const Samples before = weights_of(lab, scores).to_vector(), after = weights_when_raised(1);
  const Samples rates = exchange(lab, scores);
  double lost = 0, law = 0;
  int64_t losers = 0;
  for (size_t i = 1; i < before.size(); ++i) {
    lost += before[i] - after[i];
    losers += after[i] < before[i] ? 1 : 0;
    law = std::max(law, std::abs(rates[i] + before[i] * before[0]));
  }
  Samples extras;
  for (double extra = -4; extra <= 4; extra += 0.5) extras.push_back(extra);
  std::vector<Series> lines;
  for (size_t i = 0; i < before.size(); ++i) {
    lines.push_back(series_by(absl::StrCat("token ", i), extras, std::identity(),
                              [&](double extra) { return weights_when_raised(extra)[i]; }));
  }
  return make_section(
      "budget.budget",
      {exact("sum of the weights", 1, sum(weights_of(lab, raised(scores, 1))).item()),
       exact("what token 0 gains, and the others lose", after[0] - before[0], lost),
       equal("tokens that lose", n - 1, losers), same("dp_i / ds_0 and -p_i p_0", law)},
      {line_chart("Weights, as the score of token 0 is raised", "added to the score", "weight",
                  lines)});
}

// One query's y = Σ p_j v_j, and the gradients of a random loss.
struct Learned {
  double weight = 0;          // of token 0
  double value_gradient = 0;  // |dv_0|
  double score_gradient = 0;  // |ds_0|
  Tensor result;              // [1, d]
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
          .result = result.detached()};
}

Section forgotten_section(const LabContext& lab, const Tensor& scores, const Tensor& values,
                          const Tensor& pushed) {
  std::vector<Learned> all;
  for (double extra = -2; extra >= -12; extra -= 1) {
    all.push_back(learn(lab, raised(scores, extra), values, pushed));
  }
  const double law = most_of(values_of(all, [&](const Learned& learned) {
    return std::abs(learned.value_gradient - learned.weight * size_of(pushed));
  }));
  const Series score_series = series_by("|ds_0|", all, &Learned::weight, &Learned::score_gradient);
  const Tensor hidden = raised(scores, -std::numeric_limits<double>::infinity());
  const Learned none = learn(lab, hidden, values, pushed);
  const Tensor another =
      concat({slice(values, 0, 0, 1) + 100.0, slice(values, 0, 1, values.dim(0) - 1)}, 0);
  return make_section(
      "budget.forgotten",
      {equal("weight of a token with the score -∞", 0, none.weight),
       equal("its |dv|", 0, none.value_gradient), equal("its |ds|", 0, none.score_gradient),
       same("result, with another value there",
            largest_difference(none.result, learn(lab, hidden, another, pushed).result), 0),
       same("|dv_0| and p_0 |dO|", law),
       between("power of the weight by which |ds_0| falls", 0.95, 1.05,
               growth_exponent(score_series.x, score_series.y))},
      {line_chart(
          "What token 0 is taught", log_axis("weight"), log_axis("gradient"),
          {series_by("|dv_0|", all, &Learned::weight, &Learned::value_gradient), score_series})});
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

Lab budget_lab() { return make_lab("budget", run); }

}  // namespace qkv
