// Attention shares out a limited resource: what one token gains the others lose.
#include "apps/labs/kit/lab_kit.h"

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
  Bars bars = {.title = say("Weights, as the score of token 0 is raised")};
  for (double extra = -4; extra <= 4; extra += 1) {
    bars.bars.push_back(say("{0} more", extra));
    bars.shares.push_back(weights_when_raised(extra));
  }
  for (int64_t i = 0; i < n; ++i) bars.parts.push_back(say("token {0}", static_cast<double>(i)));
  return make_section(
      "budget.budget",
      {named("sum",
             exact(say("sum of the weights"), 1, sum(weights_of(lab, raised(scores, 1))).item())),
       exact(say("what token 0 gains, and the others lose"), after[0] - before[0], lost),
       equal(say("tokens that lose"), n - 1, losers), same("dp_i / ds_0, -p_i p_0", law)},
      {bars});
}

// One query's y = Σ p_j v_j, and the gradients of a random loss.
struct Learned {
  double weight = 0;          // of token 0
  double value_gradient = 0;  // |dv_0|
  double score_gradient = 0;  // |ds_0|
  double by_law = 0;          // p_0 |dp_0 - Σ_k p_k dp_k|
  Tensor result;              // [1, d]
};

Learned learn(const LabContext& lab, const Tensor& numbers, const Tensor& value_numbers,
              const Tensor& pushed) {
  const Tensor scores = as_parameter(numbers), values = as_parameter(value_numbers);
  const Tensor weights = weights_of(lab, scores);
  const Tensor result = matmul(weights, values);
  const Gradients gradients = backward(result, {.cotangent = pushed, .keep = {weights}});
  const Tensor& back = gradients[weights];
  const double weight = weights.to_vector()[0];
  const double mean = sum(weights * back).item();
  return {.weight = weight,
          .value_gradient = size_of(slice(gradients[values], 0, 0, 1)),
          .score_gradient = size_of(number_at(gradients[scores], 0)),
          .by_law = weight * std::abs(back.to_vector()[0] - mean),
          .result = result.detached()};
}

Section forgotten_section(const LabContext& lab, const Tensor& scores, const Tensor& values,
                          const Tensor& pushed) {
  std::vector<Learned> all;
  for (double extra = -2; extra >= -12; extra -= 1) {
    all.push_back(learn(lab, raised(scores, extra), values, pushed));
  }
  double off_value = 0, off_score = 0;
  for (const Learned& each : all) {
    off_value = std::max(off_value, std::abs(each.value_gradient - each.weight * size_of(pushed)));
    off_score = std::max(off_score, std::abs(each.score_gradient - each.by_law));
  }
  const Tensor hidden = raised(scores, -std::numeric_limits<double>::infinity());
  const Learned none = learn(lab, hidden, values, pushed);
  const Tensor another =
      concat({slice(values, 0, 0, 1) + 100.0, slice(values, 0, 1, values.dim(0) - 1)}, 0);
  return make_section(
      "budget.forgotten",
      {equal(say("weight of a token with the score -∞"), 0, none.weight),
       same(say("result, with another value there"),
            largest_difference(none.result, learn(lab, hidden, another, pushed).result), 0),
       equal(say("its {0}", "|dv|"), 0, none.value_gradient),
       equal(say("its {0}", "|ds|"), 0, none.score_gradient), same("|dv_0|, p_0 |dO|", off_value),
       same("|ds_0|, p_0 |dp_0 - Σ_k p_k dp_k|", off_score)},
      {line_chart(say("What token 0 is taught"), log_axis(say("weight")),
                  log_axis(say("size of the gradient")),
                  {series_by("|dv_0|", all, &Learned::weight, &Learned::value_gradient),
                   series_by("|ds_0|", all, &Learned::weight, &Learned::score_gradient)})});
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
