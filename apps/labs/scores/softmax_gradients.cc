// The effect of softmax on scores, and on the gradients that come back.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

// The sum of each row has to be there; the control leaves the division out.
struct Rule {
  bool divides = true;

  Tensor operator()(const Tensor& scores) const { return divides ? softmax(scores) : exp(scores); }
};

Section sums_section(const Rule& rule, const Tensor& scores) {
  const Tensor weights = rule(scores);
  const Tensor divided = exp(scores) / sum(exp(scores), -1, /*keep_axis=*/true);
  return make_section("softmax.sums",
                      {same(say("softmax and its formula"), largest_difference(weights, divided)),
                       same(say("sums of the rows and 1"), largest_of(sum(weights, -1) - 1.0)),
                       at_least(say("smallest weight"), 0, smallest_of(weights))},
                      {heat_map_of(say("Scores S"), scores, say("queries"), say("keys")),
                       heat_map_of(say("Weights P"), weights, say("queries"), say("keys"))});
}

Section shift_section(const Rule& rule, const Tensor& scores) {
  const Tensor shifted = scores - max(scores, -1, /*keep_axis=*/true);
  const Tensor large = scores + 1000.0;
  const Tensor overflowing = sum(exp(large));
  return make_section("softmax.shift",
                      {same(say("weights before and after the largest is subtracted"),
                            largest_difference(rule(scores), rule(shifted))),
                       same(say("weights of scores that are 1000 larger"),
                            largest_difference(rule(scores), rule(large))),
                       found(say("e^z of those scores"), say("no finite number"),
                             overflowing.item(), !std::isfinite(overflowing.item()))});
}

// dp_i/dz_j of one row, by backward: row i is the gradient of p_i.
Tensor jacobian_of(const Rule& rule, const Tensor& row) {
  const Tensor z = as_parameter(row);  // [n]
  const Tensor p = rule(z);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < z.dim(0); ++i) {
    rows.push_back(backward(sum(slice(p, 0, i, 1)), {.keep_graph = true})[z]);
  }
  return stack(rows, 0);
}

Section gradient_section(const Rule& rule, const Tensor& numbers, const Tensor& pushed) {
  const Tensor row = reshape(slice(numbers, 0, 0, 1), {numbers.dim(1)});
  const Tensor p = rule(row).detached();
  const Tensor column = reshape(p, {p.dim(0), 1});
  const Tensor jacobian = jacobian_of(rule, row);
  const Tensor formula = identity(p.dim(0)) * column - products_of_rows(column, column);

  const Tensor scores = as_parameter(numbers);
  const Tensor weights = rule(scores);
  const Tensor back = backward(weights, {.cotangent = pushed, .keep_graph = true})[scores];
  const Tensor dot = sum(pushed * weights, -1, /*keep_axis=*/true);
  return make_section(
      "softmax.gradient",
      {same(say("Jacobian of a row and diag(p) - p pᵀ"), largest_difference(jacobian, formula)),
       same(say("dS and P ∘ (dP - rowsum(dP ∘ P))"),
            largest_difference(back, weights * (pushed - dot))),
       same(say("sums of the rows of dS and 0"), largest_of(sum(back, -1)))},
      {heat_map_of(say("Jacobian of row 0"), jacobian, say("weight"), say("score")),
       HeatMaps{.title = say("The gradient before and behind softmax"),
                .maps = {heat_map_of("dP", pushed, say("queries"), say("keys")),
                         heat_map_of("dS", back, say("queries"), say("keys"))}}});
}

// The softmax of many rows whose scores are multiplied or shifted.
struct Answer {
  double factor = 1;
  double largest = 0;    // weight of a row, the mean
  double passed_on = 0;  // |dS| / |dP| of the median row: one whose two largest scores are about
                         // the same passes on more than others however large they are
};

Answer measure(const LabContext& lab, const Rule& rule, uint64_t seed, double factor,
               double shift = 0) {
  constexpr int64_t kRows = 200;
  const RandomStream random(seed);
  const Shape shape = {kRows, lab.integer("n")};
  const Tensor scores = as_parameter(random_normal(random, "S of many", shape) * factor + shift);
  const Tensor pushed = random_normal(random, "dP of many", shape);
  const Tensor weights = rule(scores);
  const Tensor back = backward(weights, {.cotangent = pushed, .keep_graph = true})[scores];
  return {.factor = factor,
          .largest = mean(max(weights, -1)).item(),
          .passed_on = median_share_of_rows(back, pushed)};
}

Section saturation_section(const LabContext& lab, const Rule& rule) {
  const auto answers_at = [&](double factor, double shift = 0) {
    return over_seeds(lab, [&](uint64_t seed) { return measure(lab, rule, seed, factor, shift); });
  };
  const Samples factors = {1, 4, 16, 64, 256};
  const auto answers = each_of(factors, [&](double factor) { return answers_at(factor); });
  const auto series = [&](const Text& name, double Answer::*number) {
    return series_by(
        name, answers, [](const auto& each) { return each[0].factor; },
        [&](const auto& each) { return values_of(each, number); });
  };
  const auto largest = [](const auto& each) { return values_of(each, &Answer::largest); };
  const auto passed_on = [](const auto& each) { return values_of(each, &Answer::passed_on); };
  const auto shifted = answers_at(1, 1000);
  Samples changes = largest(shifted);
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i] = std::abs(changes[i] - answers[0][i].largest);
  }
  return make_section(
      "softmax.saturation",
      {larger(say("largest weight of a row, scores times 256 and times 1"), largest(answers.back()),
              largest(answers[0])),
       larger(say("|dS| / |dP| of the row in the middle, scores times 1 and times 256"),
              passed_on(answers[0]), passed_on(answers.back())),
       beyond(named("shifted", differ(say("largest weight before and after 1000 is added to all"),
                                      most_of(changes))))},
      {line_chart(say("Scores that are multiplied"), log_axis(say("scores times")), say("share"),
                  {series(say("largest weight"), &Answer::largest),
                   series(say("|dS| / |dP|"), &Answer::passed_on)})});
}

// C writes words as columns: A = Kᵀ Q / √D_k, softmax by column, B = V Â.
Section columns_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = 4;
  const RandomStream random(1);
  const Tensor q = random_normal(random, "q", {n, d});
  const Tensor k = random_normal(random, "k", {n, d});
  const Tensor v = random_normal(random, "v", {n, d});
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor rows = matmul(softmax(products_of_rows(q, k) * factor), v);
  const Tensor a =
      matmul(transposed(k), transposed(q), {.transpose_a = true}) * factor;  // [keys, queries]
  const Tensor by_column = lab.is_control() ? softmax(a) : transposed(softmax(transposed(a)));
  const Tensor b = matmul(transposed(v), by_column);
  return make_section(
      "softmax.columns",
      {same(say("by columns and by rows"), largest_difference(transposed(b), rows)),
       same(say("sums of the columns of Â and 1"), largest_of(sum(by_column, 0) - 1.0))},
      {heat_map_of("Â", by_column, say("keys"), say("queries"))});
}

std::vector<Section> run(const LabContext& lab) {
  const Rule rule = {.divides = !lab.is_control()};
  const RandomStream random(1);
  const int64_t n = lab.integer("n");
  const Tensor scores = random_normal(random, "S", {n, n});
  const Tensor pushed = random_normal(random, "dP", {n, n});
  return {sums_section(rule, scores), shift_section(rule, scores),
          gradient_section(rule, scores, pushed), saturation_section(lab, rule),
          columns_section(lab)};
}

}  // namespace

Lab softmax_lab() { return make_lab("softmax", run); }

}  // namespace qkv
