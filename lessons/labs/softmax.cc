// What softmax makes of scores, and of the gradients that come back.
#include "lessons/labs/kit.h"

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
  const double smallest = smallest_of(weights);
  return make_section("softmax.sums",
                      {same("softmax and its formula", largest_difference(weights, divided)),
                       same("sums of the rows and 1", largest_of(sum(weights, -1) - 1.0)),
                       found("smallest weight", "not below 0", smallest, smallest >= 0)},
                      {heat_map_of("Scores S", scores), heat_map_of("Weights P", weights)});
}

Section shift_section(const Rule& rule, const Tensor& scores) {
  const Tensor shifted = scores - max(scores, -1, /*keep_axis=*/true);
  const Tensor large = scores + 1000.0;
  const Tensor overflowing = sum(exp(large));
  return make_section("softmax.shift",
                      {same("weights before and after the largest is subtracted",
                            largest_difference(rule(scores), rule(shifted))),
                       same("weights of scores that are 1000 larger",
                            largest_difference(rule(scores), rule(large))),
                       found("e^z of those scores", "no finite number", overflowing.item(),
                             !std::isfinite(overflowing.item()))});
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
      {same("Jacobian of a row and diag(p) - p pᵀ", largest_difference(jacobian, formula)),
       same("dS and P ∘ (dP - rowsum(dP ∘ P))", largest_difference(back, weights * (pushed - dot))),
       same("sums of the rows of dS and 0", largest_of(sum(back, -1)))},
      {heat_map_of("Jacobian of row 0", jacobian), heat_map_of("dP", pushed),
       heat_map_of("dS", back)});
}

// |dS| / |dP| of the median row: a row whose two largest scores are about the same passes on more
// than others however large they are.
double passed_on(const Rule& rule, const Tensor& numbers, const Tensor& pushed) {
  const Tensor scores = as_parameter(numbers);
  return median_share_of_rows(backward(rule(scores), {.cotangent = pushed})[scores], pushed);
}

Section saturation_section(const Rule& rule, const RandomStream& random, int64_t n) {
  constexpr int64_t kRows = 200;
  const Tensor scores = random_normal(random, "S of many", {kRows, n});
  const Tensor pushed = random_normal(random, "dP of many", {kRows, n});
  const Series series =
      series_by("|dS| / |dP|", Samples{1, 4, 16, 64, 256}, std::identity(),
                [&](double factor) { return passed_on(rule, scores * factor, pushed); });
  return make_section(
      "softmax.saturation",
      {found("|dS| / |dP| of most rows, scores times 1 and times 256", "falls to a hundredth",
             format_number(series.y.front()) + " and " + format_number(series.y.back()),
             series.y.back() < series.y.front() / 100)},
      {line_chart("What softmax passes back", log_axis("scores times"), "|dS| / |dP|", {series})});
}

// C writes words as columns: A = Kᵀ Q / √D_k, softmax by column, B = V Â.
Section columns_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = 4;
  const RandomStream random(lab.integer("seed"));
  const Tensor q = random_normal(random, "q", {n, d});
  const Tensor k = random_normal(random, "k", {n, d});
  const Tensor v = random_normal(random, "v", {n, d});
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor rows = matmul(softmax(products_of_rows(q, k) * factor), v);
  const Tensor a =
      matmul(transposed(k), transposed(q), {.transpose_a = true}) * factor;  // [keys, queries]
  const Tensor by_column = lab.is_control() ? softmax(a) : transposed(softmax(transposed(a)));
  const Tensor b = matmul(transposed(v), by_column);
  return make_section("softmax.columns",
                      {same("by columns and by rows", largest_difference(transposed(b), rows)),
                       same("sums of the columns of Â and 1", largest_of(sum(by_column, 0) - 1.0))},
                      {heat_map_of("Â, keys × queries", by_column)});
}

std::vector<Section> run(const LabContext& lab) {
  const Rule rule = {.divides = !lab.is_control()};
  const RandomStream random(lab.integer("seed"));
  const int64_t n = lab.integer("n");
  const Tensor scores = random_normal(random, "S", {n, n});
  const Tensor pushed = random_normal(random, "dP", {n, n});
  return {sums_section(rule, scores), shift_section(rule, scores),
          gradient_section(rule, scores, pushed), saturation_section(rule, random, n),
          columns_section(lab)};
}

}  // namespace

Lab softmax_lab() { return make_lab("softmax", run); }

}  // namespace qkv
